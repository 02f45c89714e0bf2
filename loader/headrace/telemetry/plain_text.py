"""Text that the control plane and a log take as it is."""


def plain_text(text: str, most_characters: int) -> str:
    """`text` on one line, at most so long; `?` for what UTF-8 can't hold, a space for control characters."""
    valid = text[:most_characters].encode("utf-8", "replace").decode()
    return "".join(" " if ord(character) < 32 or ord(character) == 127 else character for character in valid)
