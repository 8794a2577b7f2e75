"""A file translated by many jobs: each does a shard of its lines, and the last to end joins what they wrote.

Finished shards are artefacts of a store beside the output, <output>.shards. So a shard that is there is not done again,
two jobs do not do the same one, and a job that dies leaves nothing behind. The folder goes when all shards are joined.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import MANIFEST, atomic_file, fingerprint_file, is_special, remove
from jaxsmt.common.progress import log
from jaxsmt.model.source_text import LINES_PER_BLOCK
from jaxsmt.pipeline.config.rooms import plain
from jaxsmt.pipeline.jobs.parts import num_filled
from jaxsmt.pipeline.jobs.processes import run_processes
from jaxsmt.pipeline.standard import STANDARD, unknown_lines
from jaxsmt.pipeline.store import WAIT_SECONDS, Store, claimed
from jaxsmt.pipeline.translating.opening import document_format
from jaxsmt.text.streams import count_lines

MOST_SHARDS = 10_000
UNKNOWN = "unknown_words"
OUTPUTS = ("output", "alignments", "nbest_output", "labels_output", "explain_output", UNKNOWN)
# what a shard's bytes do not depend on; where outputs go is looked at apart
IRRELEVANT = ("shard", "processes", "quiet", "debug", "model_dir", "input", "labels", "glossary", *OUTPUTS)
TranslateFn = Callable[[DictConfig], None]


@dataclass(frozen=True)
class ShardedText:
    """All shards of a translation; config: of decode."""

    config: DictConfig

    @property
    def folder(self) -> Path:
        """Where finished shards are until they are joined."""
        return Path(f"{self.config.output}.shards")

    @cached_property
    def number(self) -> int:
        """How many shards there are that have lines."""
        return num_filled(count_lines(self.config.input), self.config.shards)

    @property
    def files(self) -> dict[str, str]:
        """The names of outputs within the folder of a shard, by key; the end of a name may say what is written."""
        given = {key: self.config[key] for key in OUTPUTS if self.config[key] is not None}
        return {key: key + Path(path).suffix for key, path in given.items()}

    @cached_property
    def identity(self) -> tuple[dict[str, Any], dict[str, str]]:
        """What every shard is made from, as `Store.run` wants it."""
        asked = {key: value for key, value in plain(self.config).items() if key not in IRRELEVANT}
        read = {key: self.config[key] for key in ("input", "labels", "glossary")}
        read["model"] = str(Path(self.config.model_dir) / MANIFEST)
        inputs = {key: fingerprint_file(path) for key, path in read.items() if path is not None}
        return {"asked": asked, "files": sorted(self.files.values())}, inputs

    def place(self, shard: int) -> Path:
        """Where a shard is when it is done."""
        return Store.folder_in(self.folder, self._stage(shard), *self.identity)

    def missing(self) -> list[int]:
        """Shards that are not done."""
        return [shard for shard in range(1, self.number + 1) if not self.place(shard).is_dir()]

    def run(self, shard: int, translate_fn: TranslateFn) -> None:
        """Translates one shard, if nobody has."""

        def build(folder: Path) -> Mapping[str, Any]:
            changed: dict[Any, Any] = {key: str(folder / name) for key, name in self.files.items()}
            own = OmegaConf.merge(self.config, {"shard": shard, **changed})
            assert isinstance(own, DictConfig)
            translate_fn(own)
            return {}

        try:
            Store(self.folder).run(self._stage(shard), *self.identity, build)
        except FileNotFoundError:
            if self.folder.is_dir():  # otherwise another job has done and joined all while this one waited for it
                raise

    def join(self) -> bool:
        """Writes the outputs if all shards are there, and removes these; whether it is done, by this job or another."""
        while self.folder.is_dir():
            with claimed(self.folder) as other:
                if other is None and self.folder.is_dir():  # nobody is joining or removing them
                    if self.missing():
                        return False
                    self._write()
                    remove(self.folder)
                    log.info("%d shards are joined in '%s'", self.number, self.config.output)
            if other is not None:
                time.sleep(WAIT_SECONDS)
        return True

    def _write(self) -> None:
        """All outputs, which appear together when all are whole."""
        folders = [self.place(shard) for shard in range(1, self.number + 1)]
        with ExitStack() as stack:
            for key, name in self.files.items():
                path = stack.enter_context(atomic_file(self.config[key]))
                parts = [folder / name for folder in folders]
                if key == UNKNOWN:
                    path.write_text(unknown_lines(_counted(parts)), encoding="utf-8", newline="")
                    continue
                with open(path, "wb") as joined:
                    for part in parts:
                        with open(part, "rb") as stream:
                            shutil.copyfileobj(stream, joined)

    def _stage(self, shard: int) -> str:
        return f"shard-{shard}-of-{self.config.shards}"


def translate_shards(config: DictConfig, translate_fn: TranslateFn) -> None:
    """Translates one shard or, in processes of this machine, all that are not done; the last one joins them."""
    check_shards(config)
    work = ShardedText(config)
    if work.number < config.shards:
        cut = f"the text is cut every {LINES_PER_BLOCK} lines"
        log.info("%s, so %d of %d shards have lines", cut, work.number, config.shards)
    if config.shard is not None and config.shard > work.number:
        return
    if config.shard is not None:
        work.run(config.shard, translate_fn)
        if not work.join():
            left = len(work.missing())
            log.info("shard %d is done; %d of %d are still to come", config.shard, left, work.number)
        return
    missing = work.missing()
    if len(missing) < work.number:
        log.info("%d of %d shards are done already", work.number - len(missing), work.number)
    told = {**plain(config), "quiet": True}
    failed = run_processes("decode", {shard: {**told, "shard": shard} for shard in missing}, config.processes)
    if failed or not work.join():
        raise UserError(_failure(work, failed))


def check_shards(config: DictConfig) -> None:
    """Raises UserError, before anything is done, where a translation cannot be cut into shards."""
    if config.shards is None:
        raise UserError(f"shard is {config.shard}, and shards is not set: give the number of all, shards=8")
    if not 1 <= config.shards <= MOST_SHARDS:
        raise UserError(f"shards is {config.shards}: give a number from 1 to {MOST_SHARDS}, or null")
    if config.shard is not None and not 1 <= config.shard <= config.shards:
        raise UserError(f"shard is {config.shard}: give one from 1 to {config.shards}, which is shards")
    if config.processes < 1:
        raise UserError(f"processes is {config.processes}: give at least 1")
    if document_format(config.format, config.input) is not None:
        raise UserError(f"'{config.input}' is a document, which is translated as a whole: leave shards out")
    for key in ("input", "output"):
        if config[key] == STANDARD or is_special(Path(config[key])):
            raise UserError(f"every shard needs {key} as a file, and it is '{config[key]}': name one, {key}=…")
    for key in ("stream", "check"):
        if config[key]:
            raise UserError(f"{key} and shards exclude each other: leave one out")
    for key, path in {key: config[key] for key in ("input", "labels", "glossary")}.items():
        if path is not None and not Path(path).is_file():
            raise UserError(f"{key} is '{path}', which is no file: check the path")
    if not (Path(config.model_dir) / MANIFEST).is_file():
        raise UserError(f"model_dir is '{config.model_dir}', which is no model: name a folder that training wrote")


def _counted(parts: list[Path]) -> Counter[str]:
    """Unknown words of all shards, as `unknown_lines` writes them."""
    found: Counter[str] = Counter()
    for part in parts:
        for line in part.read_text(encoding="utf-8").split("\n")[:-1]:
            count, _, word = line.partition("\t")
            found[word] += int(count)
    return found


def _failure(work: ShardedText, failed: Mapping[int, str]) -> str:
    number, missing = work.number, work.missing()
    if not failed:
        return f"shards {', '.join(map(str, missing))} have gone meanwhile: give the same command again"
    shard, why = next(iter(failed.items()))
    others = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    kept = f"{number - len(missing)} of {number} are done and kept in '{work.folder}'"
    if not work.folder.is_dir() or len(missing) == number:
        kept = "none is done"
    return f"shard {shard}{others} failed ({why}): {kept}; the same command does the rest, shard={shard} this one alone"
