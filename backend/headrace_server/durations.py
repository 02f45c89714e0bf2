"""How long something takes, for people. Pure."""


def span(seconds: float) -> str:
    """A duration for people: 42 s, 3 min, 5 h, 9 days."""
    for unit, size in (("days", 172_800.0), ("h", 7200.0), ("min", 120.0)):
        if seconds >= size:
            return f"{seconds / {'days': 86_400.0, 'h': 3600.0, 'min': 60.0}[unit]:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
