"""What the service holds of a job, as files: CSV and Parquet, streamed."""
