"""Server-sent events: one broker a process, one composer, any number of listeners."""
