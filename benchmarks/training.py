"""Training from raw text to counts: seconds and peak memory of each step, beside fast_align in the same run.

    python benchmarks/training.py                     law + pydoc of the data folder, 156,000 pairs
    python benchmarks/training.py --pairs 20000       the first 20,000 pairs of each

The data folder is $JAXSMT_DATA or ../shared/data beside the repository: <folder>/fr-en/<domain>/train.{fr,en}.gz.
fast_align is `systran-align` (pip install -e '.[benchmark]'); without it the ratio is null. Moses needs 350
CPU-seconds to extract and score 86,000 of these pairs, stated for comparison.
"""

import argparse
import itertools
import os
import tempfile
from pathlib import Path

from measure import Measurement, measured, print_figures
from rich.console import Console
from rich.table import Table

from jaxsmt.align.model import AlignConfig
from jaxsmt.align.training import train_and_align
from jaxsmt.common.device import setup_device
from jaxsmt.common.ragged import Ragged
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.extract.lexical import count_words
from jaxsmt.pipeline.stages.texts import ComponentText, JointText, join_texts, text_stage
from jaxsmt.pipeline.store import Store
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.reading import BitextSource

MOSES_CPU_SECONDS_PER_PAIR = 350 / 86_000  # extraction and scoring, measured once on such a machine
DATA = Path(os.environ.get("JAXSMT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def main() -> None:
    options = parse_options()
    setup_device()
    steps: dict[str, Measurement] = {}
    with tempfile.TemporaryDirectory() as scratch:
        texts = prepare(Path(scratch), options, steps)
        joint = join_texts(texts)
        links = align_jointly(joint, AlignConfig(), steps)
        extract(texts, joint.split(links), options.memory_budget_gb, steps)
        ours = sum(step.seconds for step in steps.values())
        peak = max(step.peak_gb for step in steps.values())
        peer = None if options.no_peer else fast_align(joint, Path(scratch), steps)
    show(steps, len(joint.bitext))
    figures = {
        "align_ratio": peer and round(peer.seconds / steps["aligning"].seconds, 3),
        "align_cpu_ratio": peer and round(peer.cpu_seconds / steps["aligning"].cpu_seconds, 3),
        "extract_ratio_to_moses": round(
            MOSES_CPU_SECONDS_PER_PAIR * len(joint.bitext) / steps["extracting and counting"].cpu_seconds, 3
        ),
        "total_minutes": round(ours / 60, 3),
        "peak_gb": round(peak, 3),
        "sentence_pairs": len(joint.bitext),
    }
    print_figures(figures)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", nargs="+", default=["law", "pydoc"])
    parser.add_argument("--pairs", type=int, help="pairs of each component at most")
    parser.add_argument("--memory-budget-gb", type=float, default=4.0)
    parser.add_argument("--no-peer", action="store_true", help="leave fast_align out")
    return parser.parse_args()


def prepare(scratch: Path, options: argparse.Namespace, steps: dict[str, Measurement]) -> list[ComponentText]:
    """Reading, cleaning, tokenising and numbering."""
    store = Store(scratch / "store")
    config = TextConfig(case="true")
    specs = {name: bitext_source(scratch, name, options.pairs) for name in options.components}
    with measured() as steps["tokenising"]:
        return [text_stage(store, name, spec, config) for name, spec in specs.items()]


def bitext_source(scratch: Path, name: str, pairs: int | None) -> BitextSource:
    files = [DATA / "fr-en" / name / f"train.{language}.gz" for language in ("fr", "en")]
    if pairs is not None:
        files = [first_lines(path, scratch / f"{name}{path.suffixes[0]}", pairs) for path in files]
    return BitextSource(str(files[0]), str(files[1]), source_language="fr", target_language="en")


def first_lines(path: Path, shortened: Path, number: int) -> Path:
    from jaxsmt.text.streams import read_lines

    lines = itertools.islice(read_lines(str(path)), number)
    shortened.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return shortened


def align_jointly(joint: JointText, config: AlignConfig, steps: dict[str, Measurement]) -> Ragged:
    """Both directions, symmetrised."""
    with measured() as steps["aligning"]:
        return train_and_align(joint.bitext, len(joint.source), len(joint.target), config)[1]


def extract(texts: list[ComponentText], links: list[Ragged], budget: float, steps: dict[str, Measurement]) -> None:
    """Phrase pairs with orientations, and word pairs, of each component."""
    config = ExtractConfig(memory_budget_gb=budget)
    with measured() as steps["extracting and counting"]:
        for text, part in zip(texts, links, strict=True):
            extract_counts(text.bitext, part, config)
            count_words(text.bitext, part, len(text.source.vocabulary), len(text.target.vocabulary))


def fast_align(joint: JointText, scratch: Path, steps: dict[str, Measurement]) -> Measurement | None:
    """fast_align on the same text: both directions, five iterations, and the links of every pair."""
    try:
        import systran_align
    except ImportError:
        return None
    corpus = scratch / "corpus"
    pairs = [
        ([f"s{word}" for word in joint.bitext.source[row]], [f"t{word}" for word in joint.bitext.target[row]])
        for row in range(len(joint.bitext))
    ]
    corpus.write_text("".join(f"{' '.join(source)} ||| {' '.join(target)}\n" for source, target in pairs))
    tables = str(scratch / "forward"), str(scratch / "backward")
    with measured() as steps["fast_align"]:
        systran_align.generate_alignment_probabilities(
            str(corpus), *tables, iterations=5, favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        aligner = systran_align.Aligner(*tables)
        for start in range(0, len(pairs), 10_000):
            sources, targets = zip(*pairs[start : start + 10_000], strict=True)
            aligner.align_batch(list(sources), list(targets))
    return steps["fast_align"]


def show(steps: dict[str, Measurement], num_pairs: int) -> None:
    table = Table(title=f"{num_pairs:,} sentence pairs", title_justify="left")
    table.add_column("step")
    for name in ("seconds", "CPU seconds", "peak GB"):
        table.add_column(name, justify="right")
    for name, step in steps.items():
        table.add_row(name, f"{step.seconds:.1f}", f"{step.cpu_seconds:.1f}", f"{step.peak_gb:.2f}")
    table.add_row("Moses, extracting and scoring (stated)", "", f"{MOSES_CPU_SECONDS_PER_PAIR * num_pairs:.0f}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
