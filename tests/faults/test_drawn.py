"""Configurations drawn from the schema get to work or a sentence, and lines of any letters come out again."""

from tests.faults.drawn_configs import draw_configs
from tests.faults.drawn_lines import drawn_lines, translate_lines
from tests.pipeline.small_corpus import write_corpus


def test_no_configuration_gets_a_traceback(trained, tmp_path):
    found = draw_configs(tmp_path, write_corpus(trained / "corpus"), trained / "model", 40)
    assert found.tracebacks == []
    assert found.working > 2
    assert found.refused > 10


def test_no_line_is_lost_whatever_its_letters(trained, tmp_path):
    found = translate_lines(tmp_path, trained / "model", drawn_lines(200, seed=1))
    assert (found.lines, found.lost, found.tracebacks) == (200, 0, [])
