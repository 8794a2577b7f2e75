"""The page of a training run."""

import dataclasses
import json
import time
from pathlib import Path

from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.pipeline.page.gathering import FinishedRun, run_record
from jaxsmt.pipeline.page.making import (
    clusters_section,
    data_section,
    setup_section,
    tuning_section,
    weights_section,
)
from jaxsmt.pipeline.page.markup import document, tag
from jaxsmt.pipeline.page.records import RunRecord
from jaxsmt.pipeline.page.results import samples_section, scores_section, search_section, unknown_section
from jaxsmt.pipeline.page.style import STYLE

REPORT, CURVES = "report.html", "tuning.json"


def run_page(record: RunRecord) -> str:
    """The whole page as HTML; the same for the same record."""
    samples = {f"{own.part} {own.name}": own.samples for own in record.sets}
    sections = {
        ("results", "Results"): scores_section(record.sets, record.test, record.signatures),
        ("samples", "Samples"): samples_section(samples, record.languages),
        ("unknown", "Unknown words"): unknown_section(record.sets),
        ("weights", "Weights"): weights_section(record),
        ("clusters", "Clusters"): clusters_section(record.clusters),
        ("tuning", "Tuning"): tuning_section(record.curves),
        ("search", "Search"): search_section(record.sets),
        ("data", "Data"): data_section(record),
        ("setup", "What was run"): setup_section(record.setup),
    }
    shown = {link: part for link, part in sections.items() if part is not None}
    source, target = record.languages
    said = ", ".join(own.name for own in record.components)
    summary = tag("p", f"A model from {source} to {target}, of {said}.", class_="soft")
    return document(f"Training run “{record.name}”", STYLE, shown, summary, *shown.values())


def write_report(run: FinishedRun) -> Path:
    """Writes the page of a run, and its tuning curves for a page that compares it with others; returns the page."""
    started, path = time.perf_counter(), run.output_dir / REPORT
    record = run_record(run)
    write_text(path, run_page(record))
    curves = [dataclasses.asdict(curve) for curve in record.curves]
    write_text(run.output_dir / CURVES, json.dumps(curves, indent=1, ensure_ascii=False) + "\n")
    log.info("report: %.1f s", time.perf_counter() - started)
    return path
