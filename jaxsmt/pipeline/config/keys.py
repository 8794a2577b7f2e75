"""All schemas by the name of their command, and the keys that exist, to say what a misspelled one may mean."""

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from jaxsmt.pipeline.config.adapters import adapter_keys
from jaxsmt.pipeline.config.launch import all_keys
from jaxsmt.pipeline.config.room_schemas import register_room_schemas
from jaxsmt.pipeline.config.schemas import register_schemas
from jaxsmt.pipeline.config.tuners import tuner_keys


def register_all_schemas() -> None:
    """Makes the schemas of all commands known to Hydra."""
    register_schemas()
    register_room_schemas()


def known_keys(name: str) -> list[str]:
    """Every key of a command, dotted, with those of all tuners and adapters if it has them."""
    schema = OmegaConf.create(ConfigStore.instance().load(f"{name}_schema.yaml").node)
    named = [key for key in (*tuner_keys(), *adapter_keys()) if key.partition(".")[0] in schema]
    return [*all_keys(schema), *named]
