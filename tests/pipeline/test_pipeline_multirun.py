"""The folders of a --multirun."""

from jaxsmt.pipeline.sweep import sweep_jobs


def test_jobs_come_by_number_and_others_by_name(tmp_path):
    for name in ("10", "9", "lm=trigram", "align=ibm1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores.json").write_text("{}")
    (tmp_path / "8").mkdir()  # has not come to its end
    assert [path.name for path in sweep_jobs(tmp_path)] == ["9", "10", "align=ibm1", "lm=trigram"]
    assert sweep_jobs(tmp_path / "8") == []
