"""`jaxsmt compare`: outputs of systems against references, with significance."""

import sys

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.compare import CompareConfig, compare_systems, comparison_table
from jaxsmt.evaluate.references import read_references
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.standard import input_lines


def compare(config: DictConfig) -> None:
    """Prints a table: means over replicas, stars where a system differs from the first one."""
    if not config.systems or not config.references:
        raise UserError("name references=[…] and at least one system, +systems.NAME=[output files of its tuner runs]")
    references = read_references(config.references)
    systems = {str(name): [list(input_lines(path)) for path in paths] for name, paths in config.systems.items()}
    results = compare_systems(systems, references, room_config(CompareConfig, config.evaluate))
    sys.stdout.write(comparison_table(results))
