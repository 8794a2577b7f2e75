"""Stages, the artefact store, configuration and the command-line entry points."""
