"""The weights of a model as tables: components, language models, log-linear features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxsmt.model.mixing import LOG_LINEAR
from jaxsmt.model.model import Model
from jaxsmt.model.tuned_weights import feature_names, vector_of
from jaxsmt.pipeline.page.records import WeightTable
from jaxsmt.tm.weights import FEATURE_NAMES

UNLABELLED = "(any other)"  # text of no label
ALL_FEATURES = "all"


def weight_tables(model: Model, fit: Mapping[str, Any] | None = None) -> list[WeightTable]:
    """Component weights λ, those of each language model, and of operations; fit: what the fit of λ found."""
    made = []
    if len(model.names) > 1 and model.mixing.config.operation != LOG_LINEAR:
        made.append(component_table(model, fit))
    labels = shown_labels(model)
    for number, part in enumerate(model.lms):
        if part.is_mixed:
            rows = [((label or UNLABELLED,), _shares(model.lm_mixture(label, number=number))) for label in labels]
            title = f"Weights of the language models, feature {part.name}"
            made.append(WeightTable(title, ("text",), part.names, rows))
    operations = model.search_operations
    if operations is not None and len(operations.names) > 1:
        rows = [((label or UNLABELLED,), _shares(model.lm_mixtures(label)[-1])) for label in labels]
        made.append(WeightTable("Weights of the operation models", ("text",), operations.names, rows))
    return made


def component_table(model: Model, fit: Mapping[str, Any] | None) -> WeightTable:
    """λ of every label and feature, with the bits a pair that the fit saved against equal weights."""
    rows: list[tuple[Sequence[str], Sequence[float]]] = []
    bits: list[tuple[str, str]] = []
    for label in shown_labels(model):
        mixture = model.mixture(label)
        features = (*FEATURE_NAMES, "orientation")[: len(mixture)] if mixture.ndim == 2 else (ALL_FEATURES,)
        if mixture.ndim == 2 and (mixture == mixture[0]).all():
            mixture, features = mixture[:1], (ALL_FEATURES,)
        for feature, row in zip(features, np.atleast_2d(mixture), strict=True):
            rows.append(((label or UNLABELLED, feature), _shares(row)))
            bits.append(_bits(fit, label, feature))
    heads = ("bits, equal weights", "bits, these") if any(any(pair) for pair in bits) else ()
    return WeightTable("Component weights λ", ("text", "feature"), model.names, rows, heads, bits if heads else ())


def shown_labels(model: Model) -> list[str | None]:
    """Components in their order, then other labels by name, then text of none."""
    return [*model.names, *sorted(label for label in model.labels if label not in model.names), None]


def _bits(fit: Mapping[str, Any] | None, label: str | None, feature: str) -> tuple[str, str]:
    if fit is None or label not in fit["bits"] or feature not in fit["features"]:
        return "", ""
    place = fit["features"].index(feature)
    return f"{fit['equal_bits'][label][place]:.3f}", f"{fit['bits'][label][place]:.3f}"


def log_linear_rows(model: Model) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the log-linear weights: of all text, and of labels that have their own."""
    own = {label: model.known.weights[label] for label in model.labels if label in model.known.weights}
    columns = [vector_of(model.weights), *(vector_of(weights) for weights in own.values())]
    names = list(feature_names(model.weights, model.lm_names))
    if np.size(model.weights.rule) == len(FEATURE_NAMES):
        names[: len(FEATURE_NAMES)] = FEATURE_NAMES  # the rule weights come first
    rows = [[name, *(f"{float(column[place]):.4f}" for column in columns)] for place, name in enumerate(names)]
    return ["all text", *own], rows


def _shares(row: np.ndarray) -> list[float]:
    total = float(np.sum(row))
    return [float(value) / total if total else 0.0 for value in row]
