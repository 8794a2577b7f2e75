"""What stands between Hydra and a person: readable errors, exit codes, logging, the device."""

import difflib
import errno
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from rich.logging import RichHandler

from jaxsmt.common.device import DeviceConfig, release_kernels, setup_device
from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity.ending import (
    FAILED,
    STOPPED,
    UNFORESEEN,
    exit_with,
    exit_without_reader,
    stopped_at_once,
)
from jaxsmt.common.integrity.limits import InputLimits, setup_limits
from jaxsmt.common.progress import console, log
from jaxsmt.common.settings import from_values
from jaxsmt.pipeline.config.arguments import readable
from jaxsmt.pipeline.config.folder import conf_folder, own_folder

FULL_ERROR = "HYDRA_FULL_ERROR"
DEBUG = "debug=true"
BATCH_JOB = "SUBMITIT_EXECUTOR"  # what submitit sets in the environment of its jobs
_until_started = ExitStack()  # of this process
YAML_ERRORS = "yaml.error"  # the module of all that OmegaConf's parser raises


class WorkingFolder(SearchPathPlugin):
    """Finds the user's own choices, such as conf/corpus/mine.yaml; where names are equal, ours come first."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        folder = own_folder()
        if folder is not None:
            search_path.append("working folder", f"file://{folder}")


def launch(
    name: str, job: Callable[[DictConfig], Any], arguments: list[str], schema: DictConfig, keys: Callable[[], list[str]]
) -> None:
    """Runs a job as conf/<name>.yaml and the arguments configure it.

    A mistake in the configuration becomes one sentence and exit code 1. arguments: of the command line, its name
    first. schema: of the command. keys: all that exist, which answer "did you mean".
    """
    set_before = os.environ.get(FULL_ERROR)
    wants_traceback = set_before is not None or DEBUG in arguments
    os.environ[FULL_ERROR] = "1"  # lets Hydra's exceptions through to us
    Plugins.instance().register(WorkingFolder)

    is_started = False

    def task(config: DictConfig) -> Any:
        nonlocal is_started
        _let_start()
        with _in_a_sentence(wants_traceback, keys):  # Hydra would add a line of its own
            check_against_schema(config, schema)
        is_started = True
        return run_job(job, config)

    try:
        with _until_started, _in_a_sentence(wants_traceback, keys, lambda: not is_started):
            _until_started.enter_context(stopped_at_once())  # Hydra forgets it where it looks for files
            sys.argv = [arguments[0], *readable(arguments[1:], schema)]  # where Hydra looks
            hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=name)(task)()
    finally:
        if set_before is None:
            del os.environ[FULL_ERROR]


def _let_start() -> None:
    """A function of its own: what jobs use themselves is sent along with them where they run on another machine."""
    _until_started.close()


def check_against_schema(config: DictConfig, schema: DictConfig) -> None:
    """Refuses keys that were added by force and do not exist, or that lost type (~key, then ++key=…) or value (???)."""
    known = [str(key) for key in schema]  # `in` does not see those that have no value yet
    for key in map(str, config):
        if key not in known:
            raise UserError(f"unknown configuration key '{key}'{nearest(key, known)}")
    OmegaConf.merge(schema, config)
    for key in sorted(OmegaConf.missing_keys(config) - OmegaConf.missing_keys(schema)):
        raise UserError(f"{key} is '???', which stands for a value that is not there: give one")


def run_job(job: Callable[[DictConfig], Any], config: DictConfig) -> Any:
    """Runs one job with logging, limits and the device set up.

    What is wrong ends the process with one sentence and a code, without a traceback unless `debug=true`.
    """
    setup_logging(config.get("quiet", False), config.get("debug", False))
    release_kernels()  # of the jobs before it in a sweep
    with _in_a_sentence(config.get("debug", False), lambda: all_keys(config)):
        OmegaConf.resolve(config)
        setup_limits(from_values(InputLimits, config.get("limits", {})))
        setup_device(from_values(DeviceConfig, config.get("device", {})))
        return job(config)


@contextmanager
def _in_a_sentence(
    wants_traceback: bool, keys: Callable[[], list[str]], is_early: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Ends the process with a sentence for whatever goes wrong; but who no longer reads is not told anything."""
    try:
        yield
    except SystemExit:
        raise
    except BrokenPipeError:
        exit_without_reader()
    except KeyboardInterrupt:
        exit_with("stopped; finished stages are kept, and the same command goes on behind them", STOPPED)
    except Exception as error:
        if wants_traceback:
            raise
        sentence, code = _sentence(error, keys, is_early())
        if BATCH_JOB in os.environ:
            raise UserError(sentence) from None  # who gave the job to the cluster says it
        exit_with(sentence, code)


def _sentence(error: Exception, keys: Callable[[], list[str]], is_early: bool) -> tuple[str, int]:
    """What to say of an error, and the exit code.

    is_early: before the job starts Hydra stumbles over mistakes of users alone: it raises TypeError for device=[1].
    """
    if isinstance(error, UserError):
        return str(error), FAILED
    if isinstance(error, HydraException | OmegaConfBaseException):
        return explain(error, keys()), FAILED
    if any(kind.__module__ == YAML_ERRORS for kind in type(error).__mro__):
        return _explain_yaml(error), FAILED
    if type(error).__module__.startswith("submitit."):
        return _explain_batch(error), FAILED
    if isinstance(error, OSError):
        return _explain_system(error), FAILED
    if isinstance(error, MemoryError):
        what = f" ({error})" if str(error) else ""
        return f"there is not enough memory{what}: give less text, or smaller numbers, or a machine with more", FAILED
    if isinstance(error, UnicodeDecodeError) and (files := _not_utf8()):
        return f"'{files[0]}' is not UTF-8: convert the file, for instance with iconv", FAILED
    if is_early:
        return explain(error, keys()), FAILED
    kind = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return f"this should not happen ({kind}): please report it with what debug=true shows", UNFORESEEN


def _explain_batch(error: Exception) -> str:
    """One sentence for a batch job that did not come to its end: no time or memory left, or a machine that failed."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    why = next((line.removeprefix("error: ") for line in reversed(lines) if line.startswith("error: ")), lines[0])
    return f"a batch job did not come to its end ({why}): what it printed is below .submitit; give the command again"


def _not_utf8() -> list[Path]:
    """Files of the user's configuration that nobody can read."""
    found = []
    for path in sorted((own_folder() or conf_folder()).rglob("*.yaml")):
        try:
            path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            found.append(path)
    return found


def _explain_yaml(error: Exception) -> str:
    """One sentence with file and line for a slip in a file of the configuration."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    name = getattr(mark or error, "name", None) or "a file of conf/"
    name = re.sub(r"^.*file://", "", str(name))
    where = f" line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    return f"'{name}'{where} is not YAML ({problem}): mend the file; text with ': ' or '#' needs quotation marks"


def _explain_system(error: OSError) -> str:
    """One sentence for what the operating system refused: a full disk, a folder that is read-only, a name too long."""
    reason = error.strerror or str(error) or type(error).__name__
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    where = f"'{names[0]}': " if names else ""
    advice = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or choose another folder")
    what_to_do = advice.get(error.errno or 0, "check the path and its permissions")
    return f"{where}{reason}; {what_to_do} (debug=true shows more)"


def setup_logging(quiet: bool, debug: bool = False) -> None:
    """One handler on stderr: on a terminal one beside which progress bars stay whole, elsewhere one line a message.

    Libraries warn developers, who say debug=true; people see what jaxsmt has to tell them, and errors.
    """
    handler: logging.Handler = logging.StreamHandler()
    if console.is_terminal:
        handler = RichHandler(console=console, show_path=False)
    style = "%(message)s" if console.is_terminal else "%(asctime)s %(levelname)-7s %(message)s"
    logging.basicConfig(level=logging.WARNING, format=style, datefmt="[%H:%M:%S]", handlers=[handler], force=True)
    logging.getLogger("jax").handlers.clear()  # JAX 0.5 prints its messages by itself
    logging.captureWarnings(debug)
    if not debug:
        handler.addFilter(_is_for_people)
    log.setLevel(logging.WARNING if quiet else logging.INFO)


def _is_for_people(record: logging.LogRecord) -> bool:
    return record.name.split(".")[0] == log.name or record.levelno >= logging.ERROR


def explain(error: Exception, known_keys: list[str]) -> str:
    """One sentence for an error of Hydra or OmegaConf, with the nearest valid key or option."""
    text = " ".join(str(line) for cause in _causes(error) for line in str(cause).splitlines())
    if re.search("Could not (find|load) 'hydra/launcher/submitit_", text):
        return "batch jobs need a launcher that is not installed: pip install 'jaxsmt[cluster]'"
    if missing := re.search(r"Could not override '([^']+)'", text) or re.search(r"full_key: (\S+)", text):
        key = re.sub(r"\[\d+\]$", "", missing.group(1).split("@")[0])  # an item of a list
        if key not in known_keys:
            return f"unknown configuration key '{key}'{nearest(key, known_keys)}; all keys: add --cfg job"
    if option := re.search(r"Could not find '([^']+)'.*?Available options in '([^']+)':\s*(.*?)\s*Config search", text):
        names = option.group(3).split()
        chosen = option.group(1).rsplit("/", 1)[-1]
        return f"'{option.group(2)}={chosen}' is not a choice{nearest(chosen, names)}; choose from {', '.join(names)}"
    lines = [line.strip() for line in str(list(_causes(error))[-1]).splitlines() if line.strip()]
    reason = " ".join(lines[: 2 if lines[0].endswith(":") else 1]).rstrip(".")
    value = re.search(r"full_key: (\S+)", text)
    return f"configuration key '{value.group(1)}': {reason}; set another value" if value else reason


def all_keys(config: DictConfig) -> list[str]:
    """Every key of a configuration, dotted, inner nodes included."""
    return list(_walk(OmegaConf.to_container(config, resolve=False), ""))


def _walk(node: Any, prefix: str) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield f"{prefix}{key}"
            yield from _walk(value, f"{prefix}{key}.")


def nearest(name: str, names: list[str]) -> str:
    # compare whole dotted keys first, then last parts: 'algin.p0' and 'model' are both common slips
    found = difflib.get_close_matches(name, names, 1, 0.75)
    if not found:
        by_leaf = {known.rsplit(".", 1)[-1]: known for known in reversed(names)}
        found = [by_leaf[leaf] for leaf in difflib.get_close_matches(name.rsplit(".", 1)[-1], by_leaf, 1, 0.7)]
    return f": did you mean '{found[0]}'?" if found else ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
