"""Ensembles: models with weights of their own, tuned one by one, then mixed in the chart (Razmara et al. 2012)."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from jaxsmt.common.progress import log
from jaxsmt.model.mixing import COUNTS, MixingConfig
from jaxsmt.model.model import LabelSettings, Mixing, Model
from jaxsmt.model.tuned_weights import norm_of, normalised_rule, tuned_fields
from jaxsmt.pipeline.stages.tuning import TuningTask, best_mixture, tuning_stage
from jaxsmt.pipeline.store import Store
from jaxsmt.search.weights import SearchWeights


def tuned_ensemble(store: Store, model: Model, inputs: Mapping[str, str], task: TuningTask) -> Model:
    """The ensemble with every component's own weights tuned, shared weights to start from, and λ tuned if asked for."""
    found = [tuned_alone(store, model, name, inputs, task) for name in model.names]
    mixing = dataclasses.replace(model.mixing, component_weights=tuple(map(normalised_rule, found)))
    model = dataclasses.replace(model, mixing=mixing, weights=shared_weights(found, model.weights))
    if model.mixing.config.weighting != "tuned":
        return model
    mixture = best_mixture(store, model, inputs, task)
    log.info("weights of the models: %s", ", ".join(f"{n} {x:.3f}" for n, x in zip(model.names, mixture, strict=True)))
    mixtures = {label: list(mixture) for label in (*task.dev, *model.names)}
    labels = dataclasses.replace(model.mixing.labels, mixtures=mixtures)
    return dataclasses.replace(model, mixing=dataclasses.replace(model.mixing, labels=labels))


def tuned_alone(store: Store, model: Model, name: str, inputs: Mapping[str, str], task: TuningTask) -> SearchWeights:
    """The weights of one component's model on all development sentences."""
    rule = np.array(model.mixing.component_weights[model.names.index(name)]) * model.weights.rule[0]
    alone = dataclasses.replace(
        model,
        mixing=Mixing(
            MixingConfig(operation=COUNTS, weighting="own", lm_weighting=model.mixing.config.lm_weighting),
            labels=LabelSettings(lm_mixtures=model.mixing.labels.lm_mixtures),
        ),
        weights=dataclasses.replace(model.weights, rule=tuple(rule.tolist())),
    )
    log.info("tuning the model of '%s' alone", name)
    return tuning_stage(store, alone, inputs, task, component=name).weights


def shared_weights(found: list[SearchWeights], start: SearchWeights) -> SearchWeights:
    """What lies outside the mixture: means over the models, each scaled to the norm 1, then all to that of `start`."""
    size = norm_of(start)
    means = {}
    for name in tuned_fields(start):
        mean = size * np.mean([np.asarray(getattr(weights, name)) / norm_of(weights) for weights in found], 0)
        means[name] = tuple(mean.tolist()) if mean.ndim else float(mean)
    return dataclasses.replace(start, **{**means, "rule": (size,)})
