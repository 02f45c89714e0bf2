"""Jobs, their attempts, and how they are doing."""
