"""Systems beside each other as a table that fits any terminal."""

from collections.abc import Mapping

from jaxsmt.evaluate.compare import METRICS, SystemScore, stars
from jaxsmt.pipeline.terminal.columns import TextTable


def comparison(title: str, results: Mapping[str, Mapping[str, SystemScore]]) -> TextTable:
    """One row for each system: means ± deviations, stars where it differs from the first system."""
    metrics = list(next(iter(results.values())))
    table = TextTable(title, ["system"], [METRICS[metric].name for metric in metrics])
    for name, scores in results.items():
        table.add_row(name, *(_compared(scores[metric]) for metric in metrics))
    return table


def _compared(score: SystemScore) -> str:
    spread = f" ± {score.deviation:.2f}" if score.num_replicas > 1 else ""
    return f"{score.mean:.2f}{spread}{stars(score.versus.p_value) if score.versus else '':<3}"
