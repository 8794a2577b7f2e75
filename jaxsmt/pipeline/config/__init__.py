"""Configuration: schemas, and what stands between Hydra and a person."""
