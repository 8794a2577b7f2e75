"""The page of an experiment: how the paper's method works here, and what the run found, as Markdown."""

from collections.abc import Sequence
from importlib.resources import files

from jaxsmt.pipeline.experiments.config import Experiment
from jaxsmt.pipeline.experiments.tables import Outcome, ResultTable, as_markdown, as_text, outcome_lines

RESULTS = "<!-- results -->\n"  # where a page of the package has them
RULE = "The direction is the same where what is better in the paper is not worse here, to the two digits shown."


def explanation(experiment: Experiment) -> str:
    """The text that the package has for an experiment; a user's own has a heading alone."""
    path = files("jaxsmt.pipeline.experiments") / "pages" / f"{experiment.name}.md"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    paper = f"{experiment.paper}\n\n" if experiment.paper else ""
    return f"# {experiment.title}\n\n{paper}{RESULTS}"


def page(
    experiment: Experiment, corpus: str, command: str, tables: Sequence[ResultTable], found: Sequence[Outcome]
) -> str:
    """The whole page; corpus: its name; command: what made it."""
    parts = [f"```sh\n{command}\n```\n\nCorpus: `{corpus}`. The tables below are this command's own.\n"]
    for table in tables:
        source = f" The paper's figures are those of its {table.source}." if table.source else ""
        parts.append(f"**{table.title}.**{source}\n\n{as_markdown(table.lines())}")
    if found:
        parts.append(f"### The same direction?\n\n{RULE}\n\n{as_markdown(outcome_lines(found))}")
        parts.append(summary(found) + "\n")
    return explanation(experiment).replace(RESULTS, "\n".join(parts))


def printed(experiment: Experiment, tables: Sequence[ResultTable], found: Sequence[Outcome]) -> str:
    """The same for a terminal."""
    parts = [f"{experiment.title}: {experiment.paper}\n"]
    for table in tables:
        source = f" (paper: {table.source})" if table.source else ""
        parts.append(f"{table.title}{source}\n{as_text(table.lines())}")
    if found:
        parts += [as_text(outcome_lines(found)), f"{RULE}\n{summary(found)}\n"]
    return "\n".join(parts)


def summary(found: Sequence[Outcome]) -> str:
    """How many directions are the same."""
    return f"{sum(outcome.is_same for outcome in found)} of {len(found)} directions are the same."
