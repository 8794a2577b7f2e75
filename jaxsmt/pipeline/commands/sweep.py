"""`jaxsmt sweep`: looks for settings of a training that translate the development sets best."""

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from hydra import compose
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import remove
from jaxsmt.common.progress import log, track
from jaxsmt.pipeline.checking.outputs import check_folders
from jaxsmt.pipeline.config.keys import known_keys
from jaxsmt.pipeline.config.launch import explain
from jaxsmt.pipeline.config.rooms import plain, room_config
from jaxsmt.pipeline.experiments.systems import as_overrides, last_words, trained
from jaxsmt.pipeline.jobs.space import Dimension, read_space
from jaxsmt.pipeline.jobs.study import AskedTrial, SettingsStudy
from jaxsmt.pipeline.jobs.study_config import StudyConfig
from jaxsmt.pipeline.jobs.study_page import best_of, trials_table, write_results
from jaxsmt.pipeline.terminal.ending import shown_path

FIRST = ("report=false", "translate=[dev]", "all_ways=false")  # what trainings are told unless the user says otherwise


def sweep(config: DictConfig) -> float:
    """Runs trials until there are enough, prints and writes what they found; returns the best BLEU."""
    check_folders({"work_dir": config.work_dir, "output_dir": config.output_dir})
    space = read_space(plain(config.space))
    settings = room_config(StudyConfig, config.study)
    told = [*FIRST, *config.train]
    check_space(space, told)
    folder = Path(config.output_dir)
    study = SettingsStudy(folder, space, settings, _asked(config, space, told, settings))
    for _ in track(range(settings.trials), "trials", settings.trials):
        if not _run_next(study, config, told):
            break
    tried = study.tried()
    page = write_results(folder, str(config.corpus.name), space, tried)
    trials_table(space, tried).show()
    best = best_of(tried)
    if others := study.num_running():
        log.info("other jobs are still at %d trials, and the last of them writes all", others)
    if best is None or best.score is None:
        if others:
            return 0.0
        raise UserError(f"none of {len(tried)} trials is done, see '{page}': look at what they were told")
    words = as_overrides(best.values)
    log.info("best: trial %d, %.2f BLEU: jaxsmt train %s", best.number, best.score, " ".join([*config.train, *words]))
    log.info("page: %s", shown_path(page))
    return best.score


def check_space(space: Sequence[Dimension], told: Sequence[str]) -> None:
    """Raises UserError for keys that a training does not have, and for choices that there are not."""
    ends = {own.key: own.tried_first for own in space}
    first = {key: values[0] for key, values in ends.items()}
    for changed in [{}, *({key: value} for key, values in ends.items() for value in values[1:])]:
        try:
            compose("train", last_words([*told, *as_overrides({**first, **changed})]))
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(f"space: {explain(error, known_keys('train'))}") from None


def _run_next(study: SettingsStudy, config: DictConfig, told: Sequence[str]) -> bool:
    """Trains with the next settings; False if there have been enough."""
    with study.next_trial() as trial:
        if trial is None:
            return False
        begin = time.monotonic()
        log.info("trial %d of %d: %s", trial.number, study.config.trials, " ".join(as_overrides(trial.values)))
        trial.score = _trained(trial, config, told)
        log.info("trial %d: %.2f BLEU, %.0f s", trial.number, trial.score, time.monotonic() - begin)
    if not config.keep_models:
        _remove_models(study)
    return True


def _trained(trial: AskedTrial, config: DictConfig, told: Sequence[str]) -> float:
    folders = [f"work_dir={config.work_dir}", f"output_dir={trial.folder}"]
    score = trained(config.corpus, [*told, *as_overrides(trial.values), *folders], trial.watch)
    if not (trial.folder / "scores.json").is_file():
        raise UserError(f"trial {trial.number} translated nothing: give the corpus a development set")
    return score


def _remove_models(study: SettingsStudy) -> None:
    """Of all trials but the best."""
    tried = study.tried()
    best = best_of(tried)
    for own in tried:
        if own is not best:
            remove(study.folder / "trials" / str(own.number) / "model")


def _asked(config: DictConfig, space: Sequence[Dimension], told: Sequence[str], settings: StudyConfig) -> str:
    """Stands for all that trials depend on, but for how many there are."""
    own = {name: value for name, value in vars(settings).items() if name != "trials"}
    said = [[str(part) for part in space], list(told), own, plain(config.corpus)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
