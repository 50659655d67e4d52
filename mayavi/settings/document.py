"""A YAML file as plain data that remembers where each thing stands, so that an error can name line and column.

Numbers keep every digit that was written: `0.1` is a `Decimal`. What YAML reads in surprising ways, dates or `1:30`,
stays text. A key given twice, a tag, an anchor that holds itself: all are errors with their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mayavi.errors import BadScenario, UsageError, did_you_mean

Place = tuple[str | int, ...]
"""The way to a value: keys of mappings and indexes of lists."""

MOST_BYTES = 16 * 2**20
MOST_VALUES = 200_000
_DEEPEST = 64

_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*")
_DECIMAL = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_NAMED = ("agents", "pools", "prices", "tokens")  # their keys are names: one that is not there is a slip
_BOOLEANS = {"true": True, "false": False}


class Mark(NamedTuple):
    """A place in a text, counted from 1 as editors do."""

    line: int
    column: int


class Document:
    """Data and where it came from. `origin` is what messages call the file."""

    def __init__(self, data: dict[str, Any], origin: str, folder: Path | None = None) -> None:
        self.data = data
        self.origin = origin
        self.folder = folder
        """What file names in it are relative to."""
        self._keys: dict[Place, Mark] = {}
        self._values: dict[Place, Mark] = {}
        self._options: dict[Place, str] = {}

    @classmethod
    def parse(cls, text: str, origin: str, folder: Path | None = None) -> Document:
        """The document that `text` holds: one mapping."""
        document = cls({}, origin, folder)
        document.data = _Reader(document).read(text)
        return document

    @classmethod
    def open(cls, path: Path) -> Document:
        """The document in a file."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise UsageError(f"there is no scenario at '{path}'", "`mayavi scenarios new FILE` writes one") from None
        except IsADirectoryError:
            raise UsageError(f"'{path}' is a folder, not a scenario", "name a file in it") from None
        except OSError as error:
            raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None
        if len(content) > MOST_BYTES:
            raise BadScenario(f"'{path}' has {len(content):,} bytes, which is no scenario", "prices belong in a CSV")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadScenario(f"{path}: byte {error.start} is not UTF-8", "save the file as UTF-8") from None
        return cls.parse(text, str(path), path.parent)

    # -- changing -----------------------------------------------------------------------------------------------------

    def override(self, option: str, flag: str = "--set") -> None:
        """Apply `a.b=c`: the value is read as YAML, and whatever is wrong with it will be told by this option's name.

        `flag` is what it was given to. Keys are parted by dots; one that has dots itself is found where it exists
        already, or put into quotes.
        """
        path, equals, written = option.partition("=")
        if not equals or not path.strip():
            raise UsageError(
                f"'{flag} {option}' does not set anything", f"write it as `{flag} agents.borrowers.count=50`"
            )
        shown = f"{flag} {option}"
        value = self._value_of(written, shown)
        place, parent = self._way(path.strip(), shown)
        if isinstance(parent, list):
            parent[int(place[-1])] = value
        else:
            parent[str(place[-1])] = value
        self._forget(place)
        self._options[place] = shown

    def put(self, place: Place, value: Any, option: str) -> None:
        """Set what a named option of the command line gives, such as `--steps 10`."""
        parent: Any = self.data
        for key in place[:-1]:
            parent = parent[key]
        parent[str(place[-1])] = value
        self._forget(place)
        self._options[place] = option

    def graft(self, branch: Place) -> None:
        """Take what stands at `branch` as if it were written at the top, over what is there; mappings are merged."""
        found: Any = self.data
        for key in branch:
            found = found[key]
        if isinstance(found, Mapping):
            self._merge(self.data, found, (), branch)

    def _merge(self, target: dict[str, Any], source: Mapping[str, Any], at: Place, branch: Place) -> None:
        for key, value in source.items():
            here, there = (*at, key), (*branch, key)
            if isinstance(value, Mapping) and isinstance(target.get(key), dict) and not _renamed(target[key], value):
                self._merge(target[key], value, here, there)
                continue
            target[key] = deepcopy(value)
            self._forget(here)
            for marks in (self._keys, self._values):
                moved = {here + old[len(there) :]: mark for old, mark in marks.items() if old[: len(there)] == there}
                marks.update(moved)

    def _value_of(self, written: str, shown: str) -> Any:
        aside = Document({}, shown)
        try:
            return _Reader(aside).value(written)
        except BadScenario as error:
            raise UsageError(f"'{shown}': the value is not YAML", error.message) from None

    def _way(self, path: str, shown: str) -> tuple[Place, Any]:
        """The place that a dotted path names, and the mapping or list it is in."""
        parts = _parts(path)
        at: Any = self.data
        place: list[str | int] = []
        while parts:
            if isinstance(at, list):
                head, parts = parts[0], parts[1:]
                if not head.isdigit() or int(head) >= len(at):
                    raise UsageError(f"'{shown}': {dotted(place)} is a list of {len(at)}", "name an item by 0, 1, 2 …")
                step: str | int = int(head)
            elif isinstance(at, dict):
                step, parts = _longest_key(at, parts)
            else:
                raise UsageError(
                    f"'{shown}': {dotted(place)} is {at!r}, and nothing is inside it", f"set '{dotted(place)}' whole"
                )
            place.append(step)
            if parts and isinstance(at, dict) and step not in at and place[0] in _NAMED and len(place) == 2:
                hint = did_you_mean(str(step), at) or (f"there are: {', '.join(at)}" if at else None)
                raise UsageError(f"'{shown}': there is no '{step}' in {place[0]}", hint)
            if parts:
                at = at.setdefault(step, {}) if isinstance(at, dict) else at[int(step)]
        return tuple(place), at

    def _forget(self, place: Place) -> None:
        for marks in (self._keys, self._values, self._options):
            for old in [each for each in marks if each[: len(place)] == place]:
                del marks[old]

    # -- telling where ------------------------------------------------------------------------------------------------

    def where(self, place: Place, *, key: bool = False) -> str:
        """`file.yaml:12:5` of the value at `place` (or of its key), or the option that set it."""
        for length in range(len(place), -1, -1):
            at = place[:length]
            if at in self._options:
                return self._options[at]
            marks = self._keys if key and length == len(place) else self._values
            mark = marks.get(at) or self._values.get(at)
            if mark:
                return f"{self.origin}:{mark.line}:{mark.column}"
        return self.origin

    def options(self, place: Place) -> list[str]:
        """The options that changed what stands at `place`, or something in it."""
        return [option for at, option in self._options.items() if at[: len(place)] == place]

    def fault(self, place: Place, message: str, hint: str | None = None, *, key: bool = False) -> BadScenario:
        """An error that says where."""
        return BadScenario(f"{self.where(place, key=key)}: {message}", hint)


class _Reader:
    """From YAML's nodes to data, marks written down on the way."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.left = MOST_VALUES

    def read(self, text: str) -> dict[str, Any]:
        root = self._root(text)
        if root is None:
            raise BadScenario(f"{self.document.origin} is empty", "`mayavi scenarios new FILE` writes a first scenario")
        if not isinstance(root, yaml.MappingNode):
            raise self._fault(root, "a scenario is a mapping of keys to values", "begin with `chain: ethereum`")
        data: dict[str, Any] = self._data(root, ())
        return data

    def value(self, text: str) -> Any:
        root = self._root(text)
        return None if root is None else self._data(root, ())

    def _root(self, text: str) -> yaml.Node | None:
        try:
            root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
            problem = (error.problem or "cannot be read").replace("\n", " ")
            raise BadScenario(
                f"{self.document.origin}{at}: not YAML: {problem}", "look at the indentation and the quotes there"
            ) from None
        except yaml.YAMLError as error:
            reason = " ".join(str(error).split())
            raise BadScenario(f"{self.document.origin}: not YAML: {reason}", "save the file as plain text") from None
        except RecursionError:
            raise BadScenario(f"{self.document.origin} is nested too deeply", "a scenario needs few levels") from None
        return root

    def _data(self, node: yaml.Node, place: Place) -> Any:
        self.left -= 1
        if self.left < 0:
            raise self._fault(node, f"more than {MOST_VALUES:,} values, which is no scenario", "aliases multiply")
        if len(place) > _DEEPEST:
            raise self._fault(node, "nested too deeply, or an anchor that holds itself", "write it out")
        self.document._values[place] = _mark(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self._data(each, (*place, index)) for index, each in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        if not node.tag.startswith("tag:yaml.org,2002:map"):
            raise self._fault(node, f"the tag '{node.tag}' means nothing here", "leave it out")
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._fault(key_node, "a key is a word, not a list or a mapping")
            key = key_node.value
            if key in data:
                raise self._fault(key_node, f"the key '{key}' is given twice", "keep one of them")
            data[key] = self._data(value_node, (*place, key))
            self.document._keys[*place, key] = _mark(key_node)
        return data

    def _scalar(self, node: yaml.Node) -> Any:
        text: str = node.value
        tag = node.tag.removeprefix("tag:yaml.org,2002:")
        if isinstance(node, yaml.ScalarNode) and node.style in ("'", '"', "|", ">"):
            return text
        if tag == "null":
            return None
        if tag == "bool" and text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        if _INTEGER.fullmatch(text):
            return int(text.replace("_", ""))
        if tag in {"float", "int", "str"} and any(map(str.isdigit, text)) and _DECIMAL.fullmatch(text):
            return Decimal(text.replace("_", ""))
        if tag in {"str", "int", "float", "bool", "timestamp", "value", "merge"}:
            return text
        raise self._fault(node, f"the tag '{node.tag}' means nothing here", "leave it out")

    def _fault(self, node: yaml.Node, message: str, hint: str | None = None) -> BadScenario:
        mark = _mark(node)
        return BadScenario(f"{self.document.origin}:{mark.line}:{mark.column}: {message}", hint)


def to_yaml(data: Mapping[str, Any]) -> str:
    """`data` as YAML that reads back the same: keys in their order, numbers with all their digits."""
    text: str = yaml.dump(_plain(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):  # PyYAML has no types
    """Writes decimals as they are, and long text as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never anchors: what is written twice is written out twice."""
        del data
        return True


def _as_decimal(dumper: yaml.SafeDumper, value: Decimal) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:float", format(value, "f"))


def _as_text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else "'" if _DECIMAL.fullmatch(value) else None  # what would read as a number
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(Decimal, _as_decimal)
_Dumper.add_representer(str, _as_text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return Decimal(repr(value))
    return value


def _mark(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def _renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether `new` is a thing of another kind, which replaces the old one instead of adding to it."""
    return any(key in new and new[key] != old.get(key) for key in ("kind", "process"))


def _parts(path: str) -> list[str]:
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|([^.]+)', path)]


def _longest_key(at: Mapping[str, Any], parts: list[str]) -> tuple[str, list[str]]:
    """The key that `parts` begin with: `USDC.e` where there is one, else the first part."""
    for length in range(len(parts), 1, -1):
        joined = ".".join(parts[:length])
        if joined in at:
            return joined, parts[length:]
    return parts[0], parts[1:]


def dotted(place: Iterable[str | int]) -> str:
    """`agents.borrowers.count` of a place."""
    return ".".join(map(str, place)) or "the scenario"
