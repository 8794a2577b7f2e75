"""The packages: those below `jaxsmt`, and the configuration `conf` as `jaxsmt.conf`; all else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["jaxsmt*"]), "jaxsmt.conf"])
