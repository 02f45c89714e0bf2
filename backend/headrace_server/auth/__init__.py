"""Who may call: users, sessions and API keys."""
