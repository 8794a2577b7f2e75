"""What a progress bar says of the time."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from jaxsmt.common.progress import Counted, Times


@pytest.mark.parametrize(
    ("total", "done", "said"),
    [
        (None, 3, "3 0:10"),  # nobody knows what is left
        (8, 0, "0 of 8 0:10"),
        (3000, 1500, "1,500 of 3,000 0:10, 0:10 left"),
        (9000, 2, "2 of 9,000 0:10, 12:29:50 left"),
        (8, 8, "8 of 8 0:10"),
    ],
)
def test_a_bar_says_what_is_left_where_it_is_known(total, done, said):
    now = [0.0]
    progress = Progress(Counted(), Times(), console=Console(file=io.StringIO(), width=80), get_time=lambda: now[0])
    task = progress.add_task("", total=total)
    if done:
        progress.advance(task, 0)
    now[0] = 10.0
    if done:
        progress.advance(task, done)
    columns = [column(progress.tasks[0]) for column in progress.columns]
    assert " ".join(str(column) for column in columns) == said
