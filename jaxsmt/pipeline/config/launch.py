"""What stands between Hydra and a person: readable errors, exit codes, logging, the device."""

import difflib
import errno
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
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
from jaxsmt.common.progress import console, log
from jaxsmt.common.settings import from_values
from jaxsmt.pipeline.config.folder import conf_folder, own_folder

FULL_ERROR = "HYDRA_FULL_ERROR"


class WorkingFolder(SearchPathPlugin):
    """Finds the user's own choices, such as conf/corpus/mine.yaml; where names are equal, ours come first."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        folder = own_folder()
        if folder is not None:
            search_path.append("working folder", f"file://{folder}")


def launch(name: str, job: Callable[[DictConfig], Any], arguments: list[str], keys: Callable[[], list[str]]) -> None:
    """Runs a job as conf/<name>.yaml and the arguments configure it.

    A mistake in the configuration becomes one sentence and exit code 1. arguments: of the command line, its name
    first. keys: all that exist, which answer "did you mean".
    """
    wants_traceback = FULL_ERROR in os.environ
    os.environ[FULL_ERROR] = "1"  # lets Hydra's exceptions through to us
    Plugins.instance().register(WorkingFolder)
    sys.argv = arguments  # where Hydra looks

    is_started = False

    def task(config: DictConfig) -> Any:
        nonlocal is_started
        is_started = True
        return run_job(job, config)

    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=name)(task)()
    except Exception as error:
        # before the job starts Hydra stumbles over mistakes of users alone: it raises TypeError for device=[1], and
        # OSError where it finds no room for its copy of the configuration
        is_mistake = not is_started or isinstance(error, HydraException | OmegaConfBaseException | OSError)
        if wants_traceback or not is_mistake:
            raise
        if isinstance(error, OSError) and not isinstance(error, HydraException):
            _exit(_explain_system(error))
        _exit(explain(error, keys()))


def run_job(job: Callable[[DictConfig], Any], config: DictConfig) -> Any:
    """Runs one job with logging and the device set up.

    A UserError ends the process with one sentence and exit code 1, without a traceback unless `debug=true`.
    """
    setup_logging(config.get("quiet", False))
    release_kernels()  # of the jobs before it in a sweep
    try:
        OmegaConf.resolve(config)
        setup_device(from_values(DeviceConfig, config.get("device", {})))
        return job(config)
    except UserError as error:
        if config.get("debug", False):
            raise
        _exit(str(error))
    except OSError as error:
        if config.get("debug", False):
            raise
        _exit(_explain_system(error))
    except KeyboardInterrupt:
        _exit("stopped; the same command goes on where it was")
    return None


def _explain_system(error: OSError) -> str:
    """One sentence for what the operating system refused: a full disk, a folder that is read-only, a name too long."""
    reason = error.strerror or str(error) or type(error).__name__
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    where = f"'{names[0]}': " if names else ""
    advice = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or choose another folder")
    what_to_do = advice.get(error.errno or 0, "check the path and its permissions")
    return f"{where}{reason}; {what_to_do} (debug=true shows more)"


def setup_logging(quiet: bool) -> None:
    """One handler on stderr, beside which progress bars stay whole."""
    handler = RichHandler(console=console, show_path=False, log_time_format="[%H:%M:%S]")
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler], force=True)
    log.setLevel(logging.WARNING if quiet else logging.INFO)


def explain(error: Exception, known_keys: list[str]) -> str:
    """One sentence for an error of Hydra or OmegaConf, with the nearest valid key or option."""
    text = " ".join(str(line) for cause in _causes(error) for line in str(cause).splitlines())
    if missing := re.search(r"Could not override '([^']+)'", text) or re.search(r"full_key: (\S+)", text):
        key = missing.group(1).split("@")[0]
        if key not in known_keys:
            return f"unknown configuration key '{key}'{nearest(key, known_keys)}; all keys: add --cfg job"
    if option := re.search(r"Could not find '([^']+)'.*?Available options in '([^']+)':\s*(.*?)\s*Config search", text):
        names = option.group(3).split()
        chosen = option.group(1).rsplit("/", 1)[-1]
        return f"'{option.group(2)}={chosen}' is not a choice{nearest(chosen, names)}; choose from {', '.join(names)}"
    reason = str(list(_causes(error))[-1]).splitlines()[0].rstrip(".")
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


def _exit(sentence: str) -> None:
    print(f"error: {sentence}", file=sys.stderr)
    raise SystemExit(1)
