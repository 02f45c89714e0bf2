"""Reports of ranks: identity, storage, and the latest of each rank."""
