"""Several jobs on one axis."""
