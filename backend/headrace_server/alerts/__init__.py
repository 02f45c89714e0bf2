"""Rules that watch jobs, and the alerts they raise."""
