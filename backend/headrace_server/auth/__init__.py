"""Signing in, with a password or a provider, and staying signed in."""
