"""`jaxsmt align`: parallel text in, word links out, by the stages that training aligns with."""

import shutil
from pathlib import Path

import numpy as np
from omegaconf import DictConfig

from jaxsmt.align.links import make_links, write_links
from jaxsmt.align.model import AlignConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_folder, scratch_folder
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.pipeline.checking.lists import check_given
from jaxsmt.pipeline.checking.outputs import check_folders, check_outputs
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import LinksConfig
from jaxsmt.pipeline.jobs.cluster import opened_tasks
from jaxsmt.pipeline.stages.given_text import NAME, given_text, num_pairs
from jaxsmt.pipeline.stages.links import links_stage
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.standard import output_path
from jaxsmt.pipeline.store import MANIFEST, Artefact, Store, write_manifest
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.encoding import load_side


def align(config: DictConfig) -> None:
    """Links every pair of a text with an aligner trained on it, or on another text before."""
    if config.aligner is not None and config.aligner_output is not None:
        raise UserError("aligner and aligner_output exclude each other: an aligner that is given is not trained again")
    settings = room_config(AlignConfig, config.align), LinksConfig(aligner=config.aligner)
    check_outputs({"output": config.output}, {key: config[key] for key in ("source", "target", "input")})
    check_folders({"aligner_output": config.aligner_output})
    check_given(config)
    with scratch_folder("align") as scratch, opened_tasks(config.cluster, scratch) as tasks:
        store = Store(scratch, tasks=tasks)
        text = given_text(store, config, _known_text(config.aligner))
        made = links_stage(store, [text], *settings)[NAME]
        if config.aligner_output is not None:
            assert made.aligner is not None
            _keep_aligner(Path(config.aligner_output), made.aligner, text)
        with output_path(config.output, scratch) as path:
            write_links(path, _of_all_pairs(made.links, text))


def _known_text(aligner: str | None) -> list[ComponentText]:
    """The words and the casing of the text that an aligner was trained on, where its folder has them."""
    if aligner is None or not (Path(aligner) / MANIFEST).is_file():
        return []
    folder = Path(aligner)
    empty = Ragged(np.zeros(0, np.int32), offsets_of(np.zeros(0, np.int64)))
    sides = load_side(folder, "source"), load_side(folder, "target")
    return [ComponentText("aligner", Artefact(folder), Bitext(empty, empty), *sides, np.zeros(0, np.int64))]


def _keep_aligner(folder: Path, aligner: Path, text: ComponentText) -> None:
    with atomic_folder(folder) as temporary:
        shutil.copytree(aligner, temporary, dirs_exist_ok=True)
        text.source.save(temporary, "source")
        text.target.save(temporary, "target")
        write_manifest(temporary, {"stage": "aligner"})


def _of_all_pairs(links: Ragged, text: ComponentText) -> Ragged:
    """A row for every pair that was read: nothing is linked where cleaning dropped it."""
    source, target = links.values.T
    return make_links(text.rows[links.row_index], source, target, num_pairs(text))
