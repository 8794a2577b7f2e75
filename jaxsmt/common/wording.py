"""Numbers as people read them."""


def counted(number: int, noun: str) -> str:
    """'1 line', '2,000 lines'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
