"""Rescoring in training and decoding: what it goes with, and what a command line changes in it and in a consensus."""

from typing import Any

from jaxsmt.adapt.consensus.config import ConsensusConfig
from jaxsmt.common.errors import UserError
from jaxsmt.lm.rescoring import RescoringConfig
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.rescoring import Rescoring, RescoringTraining, untuned_rescoring
from jaxsmt.pipeline.config.rooms import with_overrides


def chosen_rescoring(config: RescoringTraining, mixture: MixingConfig, tuner: Any, adapter: Any) -> Rescoring | None:
    """What training is asked for, with weights that are still to be tuned; None: nothing.

    Raises UserError, before any work is done, where it cannot be had.
    """
    if not config.kenlm and not config.osm:
        return None
    key = "rescore.kenlm" if config.kenlm else "rescore.osm"
    if tuner is None:
        raise UserError(f"{key} has weights to tune: choose a tuner too, for instance tune=mert")
    if adapter is not None:
        raise UserError(f"{key} and an adaptation do not go together yet: leave out adapt=… or {key}")
    if mixture.is_ensemble:
        raise UserError(
            f"{key} and ensembles ({mixture.operation}) do not go together yet: choose another mixture=… or "
            f"leave out {key}"
        )
    if mixture.tune_each:
        raise UserError(
            f"{key} and weights for each label do not go together yet: set mixture.tune_each=false or leave out {key}"
        )
    return untuned_rescoring(config.kenlm, config.nbest, config.osm_features)


def changed_rescoring(stored: Rescoring | None, node: Any) -> Rescoring | None:
    """What a model has, with the keys of an overrides node that were given."""
    if stored is not None:
        return stored.changed(with_overrides(RescoringConfig(nbest=stored.nbest), node))
    if any(value is not None for value in node.values()):
        raise UserError("the model has no weight to rescore with: train it with rescore.kenlm=[…], or leave that out")
    return None


def changed_consensus(stored: ConsensusConfig | None, node: Any) -> ConsensusConfig | None:
    """What a model has, with the keys of an overrides node that were given; a scale of scores is enough for others."""
    if stored is not None:
        return with_overrides(stored, node)
    if node.gamma is not None:
        return with_overrides(ConsensusConfig(), node)
    if any(value is not None for value in node.values()):
        raise UserError("the model has no consensus: give consensus.gamma too, or train it with consensus=mbr")
    return None
