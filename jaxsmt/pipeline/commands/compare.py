"""`jaxsmt compare`: outputs of systems against references, with significance."""

import sys
from typing import Any

from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.compare import CompareConfig, compare_systems
from jaxsmt.evaluate.references import read_references
from jaxsmt.pipeline.checking.lists import check_readable
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.standard import input_lines
from jaxsmt.pipeline.terminal.comparison import comparison


def compare(config: DictConfig) -> None:
    """Prints a table: means over replicas, stars where a system differs from the first one."""
    if not config.systems or not config.references:
        raise UserError("name references=[…] and at least one system, +systems.NAME=[output files of its tuner runs]")
    settings = room_config(CompareConfig, config.evaluate)
    files = {str(name): files_of(f"systems.{name}", paths) for name, paths in config.systems.items()}
    check_readable({"references": config.references, **{f"systems.{name}": paths for name, paths in files.items()}})
    references = read_references(config.references)
    systems = {name: [list(input_lines(path)) for path in paths] for name, paths in files.items()}
    results = compare_systems(systems, references, settings)
    sys.stdout.write(str(comparison("", results)))


def files_of(key: str, given: Any) -> list[str]:
    """The outputs of a system: a list of files, or the name of one."""
    if isinstance(given, str):
        return [given]
    if not OmegaConf.is_list(given) or not given:
        raise UserError(f"{key} is '{given}': give the files of its outputs, [run1.txt,run2.txt]")
    return [str(path) for path in given]
