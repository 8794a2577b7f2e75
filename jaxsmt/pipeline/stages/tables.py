"""Components that were made elsewhere, and components as Moses tables for use elsewhere."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.schemas import TmConfig
from jaxsmt.pipeline.stages.components import FOLDER
from jaxsmt.pipeline.stages.texts import fingerprint_input
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.tm.component import Component, load_component, save_component
from jaxsmt.tm.moses.lexical import LexicalPaths, write_lexical_tables
from jaxsmt.tm.moses.tables import read_component, write_component, write_component_reordering


def imported_components(store: Store, config: TmConfig) -> dict[str, Artefact]:
    """Components from component folders and from Moses tables, by name."""
    found = {name: _from_folder(store, name, Path(path)) for name, path in config.folders.items()}
    for name, path in config.tables.items():
        if name not in config.lexical:
            raise UserError(
                f"tm.tables names '{name}' and tm.lexical does not: give the prefix of its word counts, "
                f"+tm.lexical.{name}=… for the files ….counts.f2e and ….counts.e2f"
            )
        found[name] = _from_table(store, name, path, config.lexical[name])
    return found


def export_components(folder: Path, components: Mapping[str, Artefact]) -> None:
    """Writes the tables of every component to <folder>/<name>."""
    for name, artefact in components.items():
        write_moses_tables(folder / name, load_component(artefact.folder / FOLDER))


def write_moses_tables(folder: Path, component: Component) -> None:
    """Writes <folder>/{phrase-table.gz or rule-table.gz, lex.*, reordering-table.*.gz}."""
    table = "rule-table.gz" if component.kind == "hiero" else "phrase-table.gz"
    folder.mkdir(parents=True, exist_ok=True)
    write_component(folder / table, component)
    write_lexical_tables(component, folder / "lex")
    if component.rules.orientation_counts is not None:
        write_component_reordering(folder / "reordering-table.wbe-msd-bidirectional-fe.gz", component)


def _from_folder(store: Store, name: str, folder: Path) -> Artefact:
    def build(target: Path) -> Counts:
        component = load_component(folder)
        if component.name != name:
            raise UserError(f"tm.folders calls '{folder}' '{name}', its own name is '{component.name}': use that one")
        shutil.copytree(folder, target / FOLDER)
        return {"pairs": len(component), "word_pairs": len(component.lexical.joint_counts)}

    files = {path.name: fingerprint_input(str(path)) for path in sorted(folder.glob("*"))}
    return store.run(f"component-{name}", {"imported": "folder"}, files, build)


def _from_table(store: Store, name: str, table: str, lexical: str) -> Artefact:
    paths = LexicalPaths(f"{lexical}.counts.f2e", f"{lexical}.counts.e2f")

    def build(target: Path) -> Counts:
        component = read_component(table, paths, name, unescape=True)
        save_component(component, target / FOLDER)
        return {"pairs": len(component), "word_pairs": len(component.lexical.joint_counts)}

    inputs = {str(number): fingerprint_input(str(path)) for number, path in enumerate((table, *paths))}
    return store.run(f"component-{name}", {"imported": "table"}, inputs, build)
