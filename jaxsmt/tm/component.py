"""One component model: the counts of one corpus, and the folder it lives in.

Ids are local to the component (it has its own vocabularies), so that a component can be added to a
model or taken out of it without touching the others.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_folder, write_text
from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary

FORMAT_VERSION = 1
KINDS = ("phrase", "hiero")
_OPTIONAL = "rules.orientation_counts"


@dataclass(frozen=True)
class Component:
    """The sufficient statistics of one training corpus.

    name: what weights and reports call it.
    kind: 'phrase' (no nonterminals) or 'hiero'.
    rules: counts of phrase pairs or rules; marginals are those of the whole corpus.
    lexical: counts of linked word pairs.
    """

    name: str
    kind: str
    rules: RuleCounts
    lexical: LexicalCounts
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary

    def __len__(self) -> int:
        """P: the number of pairs."""
        return len(self.rules.joint_counts)


def save_component(component: Component, folder: str | Path) -> None:
    """Writes a component's folder, whole or not at all; equal components give equal bytes."""
    if component.kind not in KINDS:
        raise UserError(f"component '{component.name}' has kind '{component.kind}': choose one of {', '.join(KINDS)}")
    arrays = _arrays_of(component)
    manifest = {
        "format_version": FORMAT_VERSION,
        "name": component.name,
        "kind": component.kind,
        "num_pairs": len(component),
        "num_word_pairs": len(component.lexical.joint_counts),
        "shapes": {name: list(array.shape) for name, array in sorted(arrays.items())},
        "vocabularies": [len(component.source_vocabulary), len(component.target_vocabulary)],
    }
    with atomic_folder(folder) as temporary:
        save_arrays(temporary / "component.safetensors", arrays)
        component.source_vocabulary.save(temporary / "source.vocabulary")
        component.target_vocabulary.save(temporary / "target.vocabulary")
        write_text(temporary / "component.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def load_component(folder: str | Path) -> Component:
    """Opens a component's folder; the arrays are memory-mapped."""
    folder = Path(folder)
    manifest = _read_manifest(folder)
    arrays = open_arrays(folder / "component.safetensors")
    source, target = load_vocabulary(folder / "source.vocabulary"), load_vocabulary(folder / "target.vocabulary")
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    if shapes != manifest["shapes"] or [len(source), len(target)] != manifest["vocabularies"]:
        raise UserError(f"the files of component '{folder}' do not belong together: delete it and make it again")
    rules = RuleCounts(**_part(arrays, "rules", RuleCounts))
    lexical = LexicalCounts(**_part(arrays, "lexical", LexicalCounts))
    return Component(manifest["name"], manifest["kind"], rules, lexical, source, target)


def _part(arrays: dict[str, np.ndarray], part: str, kind: type) -> dict[str, Any]:
    return {field.name: arrays.get(f"{part}.{field.name}") for field in fields(kind)}


def _arrays_of(component: Component) -> dict[str, np.ndarray]:
    arrays = {}
    for part, counts in (("rules", component.rules), ("lexical", component.lexical)):
        for field in fields(counts):
            array = getattr(counts, field.name)
            if array is not None:
                arrays[f"{part}.{field.name}"] = array
    return arrays


def _read_manifest(folder: Path) -> dict:
    path = folder / "component.json"
    if not path.is_file():
        raise UserError(f"'{folder}' is not a component, it has no '{path.name}': check the path or run train.py")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version, shapes = manifest["format_version"], manifest.get("shapes", {})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"'{path}' is damaged: delete the folder '{folder}' and make it again") from None
    if version != FORMAT_VERSION:
        raise UserError(
            f"component '{folder}' has format version {version} and this program reads {FORMAT_VERSION}: make it again"
        )
    expected = {f"rules.{field.name}" for field in fields(RuleCounts)}
    expected |= {f"lexical.{field.name}" for field in fields(LexicalCounts)}
    if set(shapes) | {_OPTIONAL} != expected or not {"name", "kind", "vocabularies"} <= set(manifest):
        raise UserError(f"'{path}' is damaged: delete the folder '{folder}' and make it again")
    return manifest
