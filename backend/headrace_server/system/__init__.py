"""How the service itself is doing, for the administrators of the server."""
