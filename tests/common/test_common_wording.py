"""Numbers as people read them."""

from jaxsmt.common.wording import counted


def test_one_is_no_plural():
    assert [counted(number, "line") for number in (0, 1, 2000)] == ["0 lines", "1 line", "2,000 lines"]
