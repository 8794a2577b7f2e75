"""The schemas by the name of their command, and the keys that exist, to say what a misspelled one may mean."""

from functools import cache

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from jaxsmt.pipeline.config.decoding import register_decode_schema
from jaxsmt.pipeline.config.launch import all_keys


def register_schema_of(name: str) -> None:
    """Makes the schema of a command known to Hydra; decoding loads nothing that trains."""
    if name == "decode":
        register_decode_schema()
    else:
        register_all_schemas()


@cache  # Hydra keeps them as long as the process lives
def register_all_schemas() -> None:
    """Makes the schemas of all commands known to Hydra."""
    from jaxsmt.pipeline.config.room_schemas import register_room_schemas
    from jaxsmt.pipeline.config.schemas import register_schemas

    register_schemas()
    register_room_schemas()


def schema_of_command(name: str) -> DictConfig:
    """All that a command can be told, with types."""
    return OmegaConf.create(ConfigStore.instance().load(f"{name}_schema.yaml").node)


def known_keys(name: str) -> list[str]:
    """Every key of a command, dotted, with those of all choices of tune, adapt and consensus if it has these."""
    from jaxsmt.pipeline.config.adapters import adapter_keys
    from jaxsmt.pipeline.config.consensus import consensus_keys
    from jaxsmt.pipeline.config.tuners import tuner_keys

    schema = schema_of_command(name)
    every = (*tuner_keys(), *adapter_keys(), *(consensus_keys() if name != "decode" else ()))
    named = [key for key in every if key.partition(".")[0] in schema]
    return [*all_keys(schema), *named]
