"""A study in a folder: which settings were tried and what came of each, asked of and told to Optuna.

The study is a journal, a line of JSON for every event, so it goes on where it was. What is tried next depends on the
seed, on how many trials there were and on what came of them, and on nothing else: a study that was interrupted tries
what it would have tried. Several processes may work on one study; then what they try depends on who is quicker.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity.owners import heartbeat
from jaxsmt.common.progress import log
from jaxsmt.pipeline.jobs.space import Dimension
from jaxsmt.pipeline.jobs.study_config import StudyConfig
from jaxsmt.pipeline.store import WAIT_SECONDS, claim_file, claimed
from jaxsmt.tune.loop import NotWorthIt

NAME, JOURNAL = "sweep", "study.journal"
WHY, NUMBER, ASKED = "why", "number", "asked"  # attributes of trials and of the study
DONE, PRUNED, FAILED = "done", "pruned", "failed"


@dataclass(frozen=True)
class TriedSettings:
    """A trial that has ended.

    number: from 1; values: by key, as on a command line; score: None where it failed; state: done, pruned or failed.
    why: it failed.
    """

    number: int
    values: dict[str, Any]
    score: float | None
    state: str
    why: str = ""


@dataclass
class AskedTrial:
    """Settings that are to be tried; score: to be set when that is known."""

    number: int
    values: dict[str, Any]
    folder: Path
    optuna_trial: Any
    may_prune: bool
    num_reports: int = 0
    score: float | None = None

    def watch(self, value: float) -> None:
        """Is told BLEU of the iterations of all tunings, 0 to 1; raises NotWorthIt where others were better."""
        self.num_reports += 1
        self.optuna_trial.report(100 * value, self.num_reports)
        if self.may_prune and self.optuna_trial.should_prune():
            raise NotWorthIt


@dataclass(frozen=True)
class SettingsStudy:
    """The study of a folder; asked: stands for all that its trials are told."""

    folder: Path
    space: Sequence[Dimension]
    config: StudyConfig
    asked: str

    @cached_property
    def _study(self) -> Any:
        study = self._opened()
        if study.user_attrs.get(ASKED, self.asked) != self.asked:
            self._give_up_interrupted(study)
            if any(_is_counted(trial) for trial in study.trials):
                raise UserError(f"'{self.folder}' has a study of other settings: give another output_dir, or delete it")
            (self.folder / JOURNAL).unlink()  # nothing ever came of it
            study = self._opened()
        study.set_user_attr(ASKED, self.asked)
        return study

    def _opened(self) -> Any:
        optuna = optuna_library()
        self.folder.mkdir(parents=True, exist_ok=True)
        journal = optuna.storages.journal.JournalFileBackend(str(self.folder / JOURNAL))
        pruner = optuna.pruners.MedianPruner(n_startup_trials=self.config.prune_after, n_warmup_steps=0)
        try:
            return optuna.create_study(
                storage=optuna.storages.JournalStorage(journal), study_name=NAME, direction="maximize", pruner=pruner,
                load_if_exists=True,
            )  # fmt: skip
        except (ValueError, KeyError, TypeError):
            path = self.folder / JOURNAL
            raise UserError(f"'{path}' is no journal of a study: delete it, or give another output_dir") from None

    def tried(self) -> list[TriedSettings]:
        """All trials that have ended, in their order."""
        states = {"COMPLETE": DONE, "PRUNED": PRUNED, "FAIL": FAILED}
        return [
            TriedSettings(
                trial.user_attrs[NUMBER], {own.key: trial.params[own.key] for own in self.space}, trial.value,
                states[trial.state.name], trial.user_attrs.get(WHY, ""),
            )
            for trial in self._counted() if trial.state.name in states
        ]  # fmt: skip

    def num_running(self) -> int:
        """Trials that other processes are at."""
        return sum(trial.state.name == "RUNNING" for trial in self._study.trials)

    @contextmanager
    def next_trial(self) -> Iterator[AskedTrial | None]:
        """A trial that is to be run in the block; None if there are enough.

        A block that ends with a score has done it, one that raises UserError has failed. What else goes wrong is an
        interruption, after which the same settings are tried again; so is UserError before any trial has been done.
        """
        with ExitStack() as stack:
            trial = self._asked(stack)
            if trial is None:
                yield None
                return
            states = optuna_library().trial.TrialState
            try:
                yield trial
            except NotWorthIt:
                self._study.tell(trial.optuna_trial, state=states.PRUNED)
                return
            except UserError as error:
                is_first = not any(own.state == DONE for own in self.tried())
                if not is_first:
                    trial.optuna_trial.set_user_attr(WHY, str(error))
                self._study.tell(trial.optuna_trial, state=states.FAIL)
                if is_first:
                    raise
                log.warning("trial %d failed: %s", trial.number, error)
                return
            self._study.tell(trial.optuna_trial, trial.score)

    def _asked(self, stack: ExitStack) -> AskedTrial | None:
        """The next trial, claimed until the stack is closed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with _alone(self.folder / "asking"):
            self._give_up_interrupted(self._study)
            taken = {trial.user_attrs[NUMBER] for trial in self._counted()}
            number = next(number for number in itertools.count(1) if number not in taken)
            if number > self.config.trials:
                return None
            self._study.sampler = self._sampler(number)
            kinds = optuna_library().distributions
            trial = self._study.ask({own.key: own.distribution(kinds) for own in self.space})
            trial.set_user_attr(NUMBER, number)
            folder = self.folder / "trials" / str(number)
            folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_alone(folder))
            stack.enter_context(heartbeat(claim_file(folder)))
            return AskedTrial(number, dict(trial.params), folder, trial, self.config.prune)

    def _sampler(self, number: int) -> Any:
        """Draws for one trial: a state of its own for each, which nothing has to remember."""
        (seed,) = np.random.SeedSequence([self.config.seed, number]).generate_state(1)
        return optuna_library().samplers.TPESampler(
            seed=int(seed), n_startup_trials=self.config.random_trials, constant_liar=False
        )

    def _counted(self) -> list[Any]:
        """Trials but those that were interrupted, by their numbers."""
        found = [trial for trial in self._study.trials if _is_counted(trial)]
        return sorted(found, key=lambda trial: trial.user_attrs[NUMBER])

    def _give_up_interrupted(self, study: Any) -> None:
        """Takes trials out of the count whose process is gone."""
        fail = optuna_library().trial.TrialState.FAIL
        for trial in study.trials:
            if trial.state.name != "RUNNING":
                continue
            place = self.folder / "trials" / str(trial.user_attrs.get(NUMBER, 0))
            if not place.parent.is_dir() or not _is_taken(place):
                study.tell(trial.number, state=fail)


def _is_counted(trial: Any) -> bool:
    return trial.state.name != "FAIL" or WHY in trial.user_attrs


def optuna_library() -> Any:
    """Optuna, which only sweeps need."""
    try:
        import optuna
    except ImportError:
        raise UserError("a sweep needs Optuna, which is not installed: pip install 'jaxsmt[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits until nobody else has the claim."""
    while True:
        with claimed(folder) as other:
            if other is None:
                yield
                return
        time.sleep(WAIT_SECONDS)


def _is_taken(folder: Path) -> bool:
    """Whether a process that lives has the claim."""
    for _ in range(2):  # the first look takes the claim from the dead
        with claimed(folder) as other:
            if other is None:
                return False
    return True
