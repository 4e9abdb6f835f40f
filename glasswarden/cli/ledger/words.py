"""Numbers as people read them."""


def counted(number: int, noun: str) -> str:
    """Return *number* of what *noun* names: `1 record`, `1,200 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
