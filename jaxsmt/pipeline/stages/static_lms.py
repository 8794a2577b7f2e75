"""Language models interpolated beforehand, one for each kind of text: the decoder switches between them.

The union of the components' models is mixed with any weights while decoding; here the weights are fixed before, and a
text picks its model. (Sennrich, Schwenk and Aransa 2013, section 5, adapt language models so.)
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxsmt.common.files import write_text
from jaxsmt.lm.mixture import interpolate
from jaxsmt.model.language_models import WEIGHTS, load_language_models
from jaxsmt.pipeline.assembly import Draft
from jaxsmt.pipeline.stages.lms import LmMixture, load_component_lm, save_union
from jaxsmt.pipeline.store import Counts, Store


def with_static_lms(store: Store, draft: Draft) -> Draft:
    """The same with one interpolated language model for each development set and label, and one for all other text."""
    found = draft.model.mixing.labels
    lms = static_stage(store, draft.lms, {**draft.lms.weights, **found.lm_mixtures})
    labels = dataclasses.replace(found, lm_mixtures={label: lms.weights[label] for label in found.lm_mixtures})
    mixing = dataclasses.replace(draft.model.mixing, labels=labels)
    model = dataclasses.replace(draft.model, lms=load_language_models(lms.artefact.folder), mixing=mixing)
    return dataclasses.replace(draft, model=model, lms=lms)


def static_stage(store: Store, lms: LmMixture, weights: Mapping[str, Sequence[float]]) -> LmMixture:
    """Interpolates the models with each of the weights [D], by name; the new ones are picked by weights of 0 and 1."""
    names = tuple(weights)
    chosen = {name: [float(name == other) for other in names] for name in names}

    def build(folder: Path) -> Counts:
        models = [load_component_lm(artefact) for artefact in lms.models.values()]
        save_union(folder, [interpolate(models, part) for part in weights.values()])
        tables = {"names": dict(enumerate(names)), "weights": chosen, "perplexities": lms.perplexities}
        write_text(folder / WEIGHTS, json.dumps(tables, indent=1, ensure_ascii=False) + "\n")
        return {"models": len(names)}

    settings = {"weights": {name: list(part) for name, part in weights.items()}}
    artefact = store.run("lm-static", settings, {"mixture": lms.artefact.fingerprint}, build)
    return dataclasses.replace(lms, artefact=artefact, names=names, weights=chosen)
