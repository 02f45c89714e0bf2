"""One file a loader: how it is used at its best for the work of the comparison."""
