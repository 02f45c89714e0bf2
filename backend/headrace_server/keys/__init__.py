"""API keys: for machines, in one project, with scopes, an end, and for training possibly one job only."""
