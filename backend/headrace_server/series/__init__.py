"""Time series, bucketed in SQL."""
