"""Trains a model: `python train.py` on the embedded demo, `python train.py corpus=files …` on your texts."""

import hydra
from omegaconf import DictConfig

from jaxsmt.pipeline.adaptation_config import adapter_keys
from jaxsmt.pipeline.config import TrainSchema, register_schemas
from jaxsmt.pipeline.launch import launch, run_job
from jaxsmt.pipeline.list_tuning import tuner_keys
from jaxsmt.pipeline.training import train

register_schemas()


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(config: DictConfig) -> float:
    return run_job(train, config)


if __name__ == "__main__":
    launch(main, TrainSchema, [*tuner_keys(), *adapter_keys()])
