"""Alignment error rates on hand-made alignments, beside fast_align and eflomal on the same text in the same run.

    python benchmarks/alignment.py                              64,716 training pairs and the pairs aligned by hand
    python benchmarks/alignment.py --every 4                    a quarter of the training pairs of law, to try something
    python benchmarks/alignment.py align=hmm                    the default aligner, or any other settings

The data folder is $JAXSMT_DATA or ../shared/data beside the repository: <folder>/alignment/hansards.{fr,en,links},
pairs with links 'i-j' (sure) and 'ipj' (possible), are appended to hansard, europarl and the first 60,000 pairs of law
of <folder>/fr-en, in lower case, at most 80 tokens a side, and all of it is aligned.
AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|) (Och and Ney 2003, section 3.3). The aligner's settings were chosen on these
very lines: they are its development text.

fast_align is `systran-align` (pip install -e '.[benchmark]'), eflomal the command `eflomal-align` (pip install eflomal,
here or elsewhere; --eflomal names it where it is not on the path). What is not installed is not run and has
figures of null. CPU seconds are those of training and aligning both directions, compilation included.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from hydra import compose, initialize_config_dir
from measure import Measurement, measured
from rich.console import Console
from rich.table import Table

from jaxsmt.align.likeness import likeness_prior
from jaxsmt.align.links import read_links
from jaxsmt.align.model import AlignConfig
from jaxsmt.align.symmetrise import symmetrise
from jaxsmt.align.training import align, align_directed, train_and_align
from jaxsmt.common.device import setup_device
from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.pipeline.config.keys import register_all_schemas
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.stages.texts import ComponentText, JointText, join_texts, text_stage
from jaxsmt.pipeline.store import Store
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.spelling import spellings

DATA = Path(os.environ.get("JAXSMT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TRAINING = {"hansard": None, "europarl": None, "law": 60_000}
METHODS = ("grow-diag-final-and", "grow-diag", "intersect")


@dataclass(frozen=True)
class Gold:
    """Hand-made links of G pairs: sure ones and possible ones, which include the sure ones."""

    sure: list[set[tuple[int, int]]]
    possible: list[set[tuple[int, int]]]


@dataclass(frozen=True)
class Result:
    """Alignment error rates of one aligner by the way its directions were joined, and what it took."""

    rates: dict[str, float]
    took: Measurement


def main() -> None:
    options = parse_options()
    setup_device()
    gold = read_gold(DATA / "alignment" / "hansards.links")
    config = configured(options.settings)
    with tempfile.TemporaryDirectory() as scratch:
        joint = prepare(Path(scratch), options.every)
        results: dict[str, Result | None] = {"jaxsmt": run_jaxsmt(joint, config, gold)}
        results |= {"fast_align": None, "eflomal": None}
        show(results, len(joint.bitext))  # the others take a while
        if not options.no_peers:
            results["fast_align"] = run_fast_align(joint, Path(scratch), gold)
            results["eflomal"] = run_eflomal(joint, Path(scratch), gold, options.eflomal)
    show(results, len(joint.bitext))
    print(json.dumps(figures(results, config)))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", help="align=<choice>, align.<key>=<value>, on top of align=agreement")
    parser.add_argument("--every", type=int, default=1, help="take every so manieth pair of law only")
    parser.add_argument("--no-peers", action="store_true", help="leave fast_align and eflomal out")
    parser.add_argument("--eflomal", default="eflomal-align", help="the command, or its path")
    return parser.parse_args()


def configured(settings: list[str]) -> AlignConfig:
    """The aligner as `conf/align` and the command line have it; align=agreement unless another is chosen."""
    register_all_schemas()
    chosen = [] if any(item.startswith("align=") for item in settings) else ["align=agreement"]
    with initialize_config_dir(str(Path(__file__).resolve().parents[1] / "conf"), version_base="1.3"):
        return room_config(AlignConfig, compose("align", [*chosen, *settings]).align)


def read_gold(path: Path) -> Gold:
    """Reads lines of 'i-j' and 'ipj'."""
    gold = Gold([], [])
    for line in path.read_text(encoding="utf-8").splitlines():
        sure = {link_of(item, "-") for item in line.split() if "-" in item}
        gold.sure.append(sure)
        gold.possible.append(sure | {link_of(item, "p") for item in line.split() if "p" in item})
    return gold


def link_of(item: str, separator: str) -> tuple[int, int]:
    source, target = item.split(separator)
    return int(source), int(target)


def prepare(scratch: Path, every: int) -> JointText:
    """The training text, then the pairs aligned by hand, whose tokens stay as they are."""
    store = Store(scratch / "store")
    config = TextConfig(case="lower", max_length=80)
    texts = [text_stage(store, name, source_of(name, first), config) for name, first in TRAINING.items()]
    texts[-1] = thinned(texts[-1], every)
    tokenised = replace(config, tokenise=False, clean=False, typography=False)
    hand_made = BitextSource(
        str(DATA / "alignment" / "hansards.fr"), str(DATA / "alignment" / "hansards.en"),
        source_language="fr", target_language="en",
    )  # fmt: skip
    return join_texts([*texts, text_stage(store, "hansards", hand_made, tokenised)])


def source_of(name: str, first: int | None) -> BitextSource:
    files = [str(DATA / "fr-en" / name / f"train.{language}.gz") for language in ("fr", "en")]
    return BitextSource(*files, source_language="fr", target_language="en", first=first)


def thinned(text: ComponentText, every: int) -> ComponentText:
    rows = np.arange(0, len(text.bitext), every)
    return replace(text, bitext=Bitext(text.bitext.source.take(rows), text.bitext.target.take(rows)))


def run_jaxsmt(joint: JointText, config: AlignConfig, gold: Gold) -> Result:
    """Trains, and aligns all of the text the way that is configured; the pairs with hand-made links other ways, too."""
    with measured() as took:
        prior_fn = likeness_prior(spellings(joint.source), spellings(joint.target), config.alike_alpha)
        aligner, links = train_and_align(
            joint.bitext, len(joint.source), len(joint.target), config, prior_fn=prior_fn
        )
    rows = np.arange(len(links) - len(gold.sure), len(links))
    rates = {config.symmetrisation: error_rate(links.take(rows), gold)}
    bitext = Bitext(joint.bitext.source.take(rows), joint.bitext.target.take(rows))
    rates |= rates_of(*align_directed(aligner, bitext), gold)
    for threshold in (0.05, 0.1, 0.2, 0.3):
        other = replace(config, symmetrisation="product", product_threshold=threshold)
        rates[f"product > {threshold}"] = error_rate(align(aligner, bitext, other), gold)
    return Result(rates, took)


def rates_of(forward: Ragged, reverse: Ragged, gold: Gold) -> dict[str, float]:
    return {method: error_rate(symmetrise(forward, reverse, method), gold) for method in METHODS}


def error_rate(links: Ragged, gold: Gold) -> float:
    """AER in per cent."""
    found = [set(map(tuple, links[row].tolist())) for row in range(len(links))]
    hits = sum(len(a & s) + len(a & p) for a, s, p in zip(found, gold.sure, gold.possible, strict=True))
    return 100 * (1 - hits / max(sum(map(len, found)) + sum(map(len, gold.sure)), 1))


def written(joint: JointText, path: Path) -> list[tuple[list[str], list[str]]]:
    """Words as fast_align and eflomal read them, one pair a line with ||| between, written to a file, too."""
    bitext = joint.bitext
    pairs = [
        (joint.source.decode(bitext.source[row]), joint.target.decode(bitext.target[row])) for row in range(len(bitext))
    ]
    lines = (f"{' '.join(source)} ||| {' '.join(target)}\n" for source, target in pairs)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return pairs


def run_fast_align(joint: JointText, scratch: Path, gold: Gold) -> Result | None:
    """Both directions, five iterations; `systran_align` has no links but grow-diag-final-and's."""
    try:
        import systran_align
    except ImportError:
        return None
    pairs = written(joint, scratch / "corpus")
    tables = str(scratch / "forward"), str(scratch / "backward")
    with measured() as took:
        systran_align.generate_alignment_probabilities(
            str(scratch / "corpus"), *tables, iterations=5, favor_diagonal=True, optimize_tension=True,
            variational_bayes=True,
        )  # fmt: skip
        aligner = systran_align.Aligner(*tables)
        found: list[dict] = []
        for start in range(0, len(pairs), 10_000):
            sources, targets = zip(*pairs[start : start + 10_000], strict=True)
            found += aligner.align_batch(list(sources), list(targets))
    links = ragged_from_rows([sorted(row["alignments"]) for row in found[-len(gold.sure) :]], width=2)
    return Result({METHODS[0]: error_rate(links, gold)}, took)


def run_eflomal(joint: JointText, scratch: Path, gold: Gold, command: str) -> Result | None:
    """Model 3 as it comes; its CPU seconds are those of its processes."""
    program = shutil.which(command)
    if program is None:
        return None
    written(joint, scratch / "corpus")
    files = scratch / "eflomal.forward", scratch / "eflomal.reverse"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with measured() as took:
        arguments = ["-i", str(scratch / "corpus"), "-m", "3", "-f", str(files[0]), "-r", str(files[1])]
        subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rows = np.arange(len(joint.bitext) - len(gold.sure), len(joint.bitext))
    forward, reverse = (read_links(path).take(rows) for path in files)
    return Result(rates_of(forward, reverse, gold), took)


def figures(results: dict[str, Result | None], config: AlignConfig) -> dict[str, float | None]:
    ours, fast_align, eflomal = results["jaxsmt"], results["fast_align"], results["eflomal"]
    assert ours is not None
    final = METHODS[0]
    values = {
        "aer": ours.rates[config.symmetrisation],
        "aer_grow_diag_final_and": ours.rates[final],
        "aer_product": ours.rates["product > 0.2"],
        "aer_intersect": ours.rates["intersect"],
        "aer_fast_align": fast_align and fast_align.rates[final],
        "aer_eflomal": eflomal and eflomal.rates[final],
        "aer_eflomal_intersect": eflomal and eflomal.rates["intersect"],
        "cpu_ratio_eflomal": eflomal and eflomal.took.cpu_seconds / ours.took.cpu_seconds,
    }
    return {name: value and round(value, 3) for name, value in values.items()}


def show(results: dict[str, Result | None], num_pairs: int) -> None:
    table = Table(title=f"AER in per cent, {num_pairs:,} sentence pairs", title_justify="left")
    table.add_column("")
    for name, result in results.items():
        table.add_column(name if result else f"{name} (not run)", justify="right")
    ways = list(dict.fromkeys(way for result in results.values() if result for way in result.rates))
    for way in ways:
        cells = (f"{result.rates[way]:.2f}" if result and way in result.rates else "" for result in results.values())
        table.add_row(way, *cells)
    for title, name in (("CPU seconds", "cpu_seconds"), ("seconds", "seconds")):
        table.add_row(title, *(f"{getattr(result.took, name):.0f}" if result else "" for result in results.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
