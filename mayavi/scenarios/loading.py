"""Load a scenario by name or path, apply overrides and check it.

```python
scenario = load_scenario("depeg_cascade", chain="base", overrides=["agents.borrowers.count=50"])
scenario.config.steps, scenario.text
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import BadScenario, UnknownName, UsageError
from mayavi.scenarios.document_kind import SCENARIO
from mayavi.scenarios.import_paths import import_named_code
from mayavi.scenarios.installed import InstalledScenario, find_entry
from mayavi.scenarios.models.agents.positions import POSITIONS
from mayavi.scenarios.models.config import ALL_CHAINS, ScenarioConfig
from mayavi.scenarios.models.prices import PathPrice
from mayavi.scenarios.models.world import WorldOptions, resolve_snapshot, world_source
from mayavi.settings.document import Document
from mayavi.settings.document_kind import Place
from mayavi.settings.validation import checked, joined
from mayavi.settings.yaml_text import to_yaml
from mayavi.worlds.tables.paths import market_chain, market_name, market_names

if TYPE_CHECKING:
    from mayavi.markets.series import Series
    from mayavi.scenarios.registry import Entry
    from mayavi.worlds.source import WorldSource


DocumentCheck = Callable[[Document], None]
"""Looks at a document with all options applied, before any file that it names is opened; raises to refuse it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A checked scenario. `text` is the complete YAML, with overrides applied and files embedded, but without a seed
    and `specialise`, on which no result depends: enough to run it again anywhere."""

    name: str
    config: ScenarioConfig
    text: str
    origin: str
    options: tuple[str, ...] = field(default=(), compare=False)
    """Command-line options that changed it, `--set agents.borrowers.count=50`; errors of the build name them."""

    def world(self, rpc_url: str | None = None) -> WorldSource:
        """Return the world that it names; `rpc_url` is the node, by default that of the environment."""
        config = self.config
        return world_source(config.source, config.block, config.chain, rpc_url, config.world)

    def at_block(self, block: int) -> Scenario:
        """Return the scenario with the number of its block, which `latest` leaves open."""
        if self.config.block == block:
            return self
        document = Document.parse(self.text, self.origin, kind=SCENARIO)
        config = self.config.model_copy(update={"block": block})
        return replace(self, config=config, text=to_yaml(document.data | {"block": block}))

    def blame(self, error: BadScenario) -> BadScenario:
        """Return an error of the build with the options in front whose value, or last key, it names."""
        words = set(re.findall(r"[\w./%+-]*\w[\w./%+-]*", error.message))
        found = []
        for option in self.options:
            path, _, value = option.partition(" ")[2].partition("=")
            if {value.strip(), path.rpartition(".")[2].strip()} & words:
                found.append(option)
        return BadScenario(f"{' with '.join(found)}: {error.message}", error.hint) if found else error


def load_scenario(
    name_or_path: str | Path,
    *,
    chain: str | None = None,
    steps: int | None = None,
    overrides: Iterable[str] = (),
    grid: Iterable[str] = (),
    world: WorldOptions | None = None,
    check: DocumentCheck | None = None,
    import_paths: bool | None = None,
) -> Scenario:
    """Load a scenario by name or path and apply `chain`, `steps`, `world` and each `a.b=c` of `overrides`.

    `chain` may be a market of Aave V3.6, such as `base@2025-12`. `grid` holds the overrides of a point of a sweep,
    which errors call `--grid`. Raises `BadScenario` with the place of what is wrong, and `UnknownName` with the nearest
    names. `check` may refuse what a document names.

    `kind: my_agents:Saver` imports code, from the folder of the file or an installed package. `import_paths=False`
    refuses that, as does `MAYAVI_ALLOW_IMPORT_PATHS=0`.
    """
    return _load_document(_document(name_or_path), chain, steps, overrides, grid, check, world, import_paths)


def load_text(
    text: str,
    *,
    origin: str = "scenario",
    chain: str | None = None,
    steps: int | None = None,
    overrides: Iterable[str] = (),
    grid: Iterable[str] = (),
    name: str | None = None,
    check: DocumentCheck | None = None,
    import_paths: bool | None = None,
    folder: Path | None = None,
) -> Scenario:
    """Load a scenario from YAML, such as the `text` of another scenario; `name` is for a text without a name.

    Import paths are looked for in `folder`, by default the current one; `import_paths=False` refuses them, for texts of
    others.
    """
    document = Document.parse(text, origin, folder, kind=SCENARIO)
    if name is not None:
        document.data = {"name": name} | document.data
    return _load_document(document, chain, steps, overrides, grid, check, None, import_paths)


def scenario_source(name_or_path: str | Path) -> str:
    """Return the file of a scenario as written, with comments."""
    if is_path(name_or_path):
        return Path(name_or_path).read_text(encoding="utf-8")
    return _find_entry(str(name_or_path)).path.read_text(encoding="utf-8")


def is_path(name_or_path: str | Path) -> bool:
    """Whether the argument is a path: a `Path`, or text with a slash or a YAML suffix."""
    return isinstance(name_or_path, Path) or "/" in name_or_path or name_or_path.endswith((".yaml", ".yml"))


def _document(name_or_path: str | Path) -> Document:
    if not is_path(name_or_path):
        found = _find_entry(str(name_or_path))
        document = Document.open(found.path, kind=SCENARIO)
        if "name" not in document.data:
            document.data = {"name": found.name} | document.data
        return document
    document = Document.open(Path(name_or_path), kind=SCENARIO)
    document.data = {"name": _slug(Path(name_or_path).stem)} | document.data
    return document


def _find_entry(name: str) -> Entry | InstalledScenario:
    """Find a scenario by name; where there is none, say so of a file or folder with that name."""
    try:
        return find_entry(name)
    except UnknownName:
        if Path(name).is_file():
            raise UsageError(
                f"'{name}' is not a scenario: the name of its file must end in .yaml or .yml", SCENARIO.missing_hint
            ) from None
        if Path(name).is_dir():
            raise UsageError(f"'{name}' is a folder, not a scenario", "name a file in it") from None
        raise


def _override(document: Document, chosen: Iterable[tuple[str, str]]) -> None:
    errors = []
    for flag, option in chosen:
        try:
            document.override(option, flag)
        except UsageError as error:
            errors.append(error)
    if errors:
        raise joined(errors)


def _load_document(
    document: Document,
    chain: str | None,
    steps: int | None,
    overrides: Iterable[str],
    grid: Iterable[str] = (),
    check: DocumentCheck | None = None,
    world: WorldOptions | None = None,
    import_paths: bool | None = None,
) -> Scenario:
    chosen = [*(("--set", option) for option in overrides), *(("--grid", option) for option in grid)]
    for flag, option in chosen:  # the chain first: other overrides win over what differs by chain
        if option.partition("=")[0].strip() == "chain":
            if chain is not None:
                raise UsageError(f"the chain is given twice: --chain {chain} and {flag} {option}", "leave one out")
            document.override(option, flag)
    if chain is not None:
        own = chain
        if _is_market(chain):  # a market of Aave V3.6, which is a world of its chain
            market = market_name(chain)
            own = market_chain(market)
            document.put(("world",), market, f"--chain {chain}")
        document.put(("chain",), own, f"--chain {chain}")
    _apply_chain(document)
    _expand_positions(document)
    if steps is not None:
        document.put(("steps",), steps, f"--steps {steps}")
    _override(document, chosen)
    _expand_positions(document)
    if world is not None:
        world.apply(document)
    if check is not None:
        check(document)
    import_named_code(document, import_paths)
    resolve_snapshot(document)
    files = _embed_files(document)
    config = checked(ScenarioConfig, document)
    _check_files(document, config, files)
    kept = {key: value for key, value in document.data.items() if key not in {"seed", "specialise"}}
    kept["chains"] = list(config.chains)
    options = tuple(f"{flag} {option}" for flag, option in chosen)
    return Scenario(config.name, config, to_yaml(kept), document.origin, options)


def _is_market(name: str) -> bool:
    """Whether `--chain` names a market, with its month, or without it where no chain has the name."""
    short = name not in ALL_CHAINS and any(each.startswith(f"{name}@") for each in market_names())
    return "@" in name or short


def _apply_chain(document: Document) -> None:
    """Apply what the file sets for the chosen chain only."""
    chains, chain = document.data.get("chains"), document.data.get("chain")
    if not isinstance(chains, dict):
        return
    for name, differs in chains.items():
        if differs is not None and not isinstance(differs, dict):
            raise document.fault(("chains", name), f"chains.{name} is '{differs}', not a mapping of what differs there")
        wrong = {"chain", "chains", "name"} & set(differs or {})
        if wrong:
            place = ("chains", name, min(wrong))
            raise document.fault(place, f"'{min(wrong)}' cannot differ by chain", key=True)
    if isinstance(chain, str) and chain in ALL_CHAINS and isinstance(chains.get(chain), dict):
        document.graft(("chains", chain))


def _expand_positions(document: Document) -> None:
    """Write `positions: FILE` as the mapping it abbreviates, so that options can add to it."""
    if isinstance(document.data.get(POSITIONS), str):
        document.data[POSITIONS] = {"file": document.data[POSITIONS]}


def _embed_files(document: Document) -> dict[Place, Series]:
    """Replace every `file:` by its content as `data:`, and return the price series by place."""
    from mayavi.scenarios.models.attachments import (
        READING,
        READING_TYPES,
        as_csv,
        book_text,
        in_yaml,
        prices_of_file,
        written_out,
    )
    from mayavi.scenarios.models.chain.own_contracts import compiled_contract

    files: dict[Place, Series] = {}

    for place, mapping in _file_mappings(document.data, ()):
        name = mapping["file"]
        is_book = place == (POSITIONS,) or mapping.get("kind") == POSITIONS
        if (is_book or place[:1] == ("contracts",)) and "data" in mapping and document.options((*place, "file")):
            del mapping["data"]  # of the file before
        if not isinstance(name, str) or "data" in mapping:
            continue
        try:
            if place[:1] == ("contracts",):
                mapping["data"] = compiled_contract(name, document.folder, mapping.get("contract"))
                mapping["file"] = Path(name).name
                continue
            if is_book:  # keeps the file's name, which errors about the market's refusals mention
                mapping["file"], mapping["data"] = Path(name).name, book_text(name, document.folder)
                continue
            if mapping.get("process") == "path":
                reading = {key: mapping[key] for key in READING if key in mapping}
                if any(type(value) is not READING_TYPES[key] for key, value in reading.items() if value is not None):
                    continue  # the validation of the whole scenario reports it
                files[place] = prices_of_file(name, document.folder, reading)
                mapping["data"] = as_csv(files[place])
                for key in reading:
                    del mapping[key]
            else:
                mapping["data"] = written_out(name, document.folder)
        except UsageError as error:
            raise type(error)(f"{document.where((*place, 'file'))}: {error.message}", in_yaml(error.hint)) from None
        del mapping["file"]
    return files


def _check_files(document: Document, config: ScenarioConfig, files: Mapping[Place, Series]) -> None:
    """Check that prices from files cover the whole run, while their lines are known."""
    from mayavi.scenarios.build.build import pace
    from mayavi.scenarios.build.pricing import check_file
    from mayavi.scenarios.models.attachments import in_yaml

    for symbol, price in config.prices.items():
        series = files.get(("prices", symbol))
        if series is None or not isinstance(price, PathPrice):
            continue
        try:
            check_file(price, series, config.steps, pace(config)[1])
        except UsageError as error:
            where = document.where(("prices", symbol, "file"))
            raise type(error)(f"{where}: {error.message}", in_yaml(error.hint)) from None


def _file_mappings(value: Any, place: Place) -> list[tuple[Place, dict[str, Any]]]:
    """Return every mapping with a key `file`, with its place."""
    found: list[tuple[Place, dict[str, Any]]] = []
    if isinstance(value, dict):
        if "file" in value:
            found.append((place, value))
        for key, each in value.items():
            found += _file_mappings(each, (*place, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            found += _file_mappings(each, (*place, index))
    return found


def _slug(stem: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in stem)
    return kept if kept[:1].isalpha() else f"scenario_{kept}"
