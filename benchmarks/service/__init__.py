"""The control plane beside MLflow's tracking server: `python -m benchmarks.service`."""
