"""Projects, which own jobs and keys."""
