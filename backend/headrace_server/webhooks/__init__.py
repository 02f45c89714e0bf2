"""Telling other systems: webhooks, and an outbox that loses nothing."""
