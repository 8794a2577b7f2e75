"""Compares outputs of systems.

python -m jaxsmt.pipeline.commands.compare references=[test.en] +systems.base=[a.txt] +systems.new=[b.txt]
"""

import sys

import hydra
from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.compare import CompareConfig, compare_systems, comparison_table
from jaxsmt.pipeline.config.launch import launch, run_job
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import ComparisonSchema, register_schemas
from jaxsmt.text.streams import read_lines

register_schemas()


def compare(config: DictConfig) -> None:
    """Prints a table: means over replicas, stars where a system differs from the first one."""
    if not config.systems or not config.references:
        raise UserError("name references=[…] and at least one system, +systems.NAME=[output files of its tuner runs]")
    columns = [list(read_lines(path)) for path in config.references]
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise UserError(f"the reference files have {lengths} lines: give as many in each")
    systems = {str(name): [list(read_lines(path)) for path in paths] for name, paths in config.systems.items()}
    results = compare_systems(systems, list(zip(*columns, strict=True)), room_config(CompareConfig, config.evaluate))
    sys.stdout.write(comparison_table(results))


@hydra.main(version_base="1.3", config_path="../../../conf", config_name="compare")
def main(config: DictConfig) -> None:
    return run_job(compare, config)


if __name__ == "__main__":
    launch(main, ComparisonSchema)
