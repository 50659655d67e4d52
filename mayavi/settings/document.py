"""YAML document as plain data with the position of every value, so that errors name line and column.

Numbers keep every digit: `0.1` is a `Decimal`. Values that YAML reads in surprising ways, dates or `1:30`, stay text.
Duplicate keys, tags and recursive anchors are errors with a position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mayavi.errors import UsageError, did_you_mean
from mayavi.settings.document_kind import DocumentKind, Place, dotted

MOST_BYTES = 16 * 2**20
MOST_VALUES = 200_000
_DEEPEST = 64
_LONGEST_KEPT = 16 * 2**10
"""Length of texts whose nodes are kept: longer ones take much memory, and are rarely read twice."""

_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*")
DECIMAL = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "false": False}


class Mark(NamedTuple):
    """Position in a text, counted from 1."""

    line: int
    column: int


class Document:
    """Data with the position of each value. `origin` names the document in errors; empty: no position is named."""

    def __init__(
        self, data: dict[str, Any], origin: str, folder: Path | None = None, *, kind: DocumentKind | None = None
    ) -> None:
        self.data = data
        self.origin = origin
        self.folder = folder
        """Base of relative file names in the document."""
        self.kind = kind or DocumentKind()
        self._keys: dict[Place, Mark] = {}
        self._values: dict[Place, Mark] = {}
        self._options: dict[Place, str] = {}

    @classmethod
    def parse(cls, text: str, origin: str, folder: Path | None = None, *, kind: DocumentKind | None = None) -> Document:
        """Parse a YAML text that holds one mapping."""
        document = cls({}, origin, folder, kind=kind)
        document.data = _Reader(document).read(text)
        return document

    @classmethod
    def open(cls, path: Path, *, kind: DocumentKind | None = None) -> Document:
        """Read and parse a YAML file."""
        kind = kind or DocumentKind()
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise UsageError(f"there is no {kind.noun} at '{path}'", kind.missing_hint) from None
        except IsADirectoryError:
            raise UsageError(f"'{path}' is a folder, not a {kind.noun}", "name a file in it") from None
        except OSError as error:
            raise UsageError(f"'{path}' cannot be read: {error.strerror}") from None
        if len(content) > MOST_BYTES:
            raise kind.error(f"'{path}' has {len(content):,} bytes, too many for a {kind.noun}", kind.size_hint)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise kind.error(f"{path}: byte {error.start} is not UTF-8", "save the file as UTF-8") from None
        return cls.parse(text, str(path), path.parent, kind=kind)

    # -- changing -----------------------------------------------------------------------------------------------------

    def override(self, option: str, flag: str = "--set") -> None:
        """Apply `a.b=c`, with the value read as YAML. Later errors about the value name this option.

        `flag` is the option's name. Keys are separated by dots; a key that contains dots is found where it exists
        already, or written in quotes; the numbers after a pair, `DAI/USDC.500`, need none.
        """
        path, equals, written = option.partition("=")
        if not equals or not path.strip():
            raise UsageError(
                f"'{flag} {option}' does not set anything", f"write it as `{flag} {self.kind.override_example}`"
            )
        shown = f"{flag} {option}"
        value = self._parse_value(written, shown)
        place, parent = self._resolve(path.strip(), shown)
        if isinstance(parent, list):
            parent[int(place[-1])] = value
        else:
            parent[str(place[-1])] = value
        self._forget(place)
        self._options[place] = shown

    def put(self, place: Place, value: Any, option: str) -> None:
        """Set the value of a named command-line option, such as `--steps 10`."""
        parent: Any = self.data
        for key in place[:-1]:
            parent = parent[key]
        parent[str(place[-1])] = value
        self._forget(place)
        self._options[place] = option

    def graft(self, branch: Place) -> None:
        """Merge the mapping at `branch` into the top level, overriding what is there."""
        found: Any = self.data
        for key in branch:
            found = found[key]
        if isinstance(found, Mapping):
            self._merge(self.data, found, (), branch)

    def _merge(self, target: dict[str, Any], source: Mapping[str, Any], at: Place, branch: Place) -> None:
        for key, value in source.items():
            here, there = (*at, key), (*branch, key)
            if (
                isinstance(value, Mapping)
                and isinstance(target.get(key), dict)
                and not self._retagged(target[key], value)
            ):
                self._merge(target[key], value, here, there)
                continue
            target[key] = deepcopy(value)
            self._forget(here)
            for marks in (self._keys, self._values):
                size = len(there)
                marks.update({here + way[size:]: mark for way, mark in marks.items() if way[:size] == there})

    def _retagged(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether `new` selects another model than `old`, and so replaces it."""
        return any(key in new and new[key] != old.get(key) for key in self.kind.tag_keys)

    def _parse_value(self, written: str, shown: str) -> Any:
        try:
            return _Reader(Document({}, f"'{shown}'", kind=self.kind), is_option=True).value(written)
        except self.kind.error as error:
            raise UsageError(error.message, error.hint) from None

    def _resolve(self, path: str, shown: str) -> tuple[Place, Any]:
        """Resolve a dotted path to a place and the mapping or list that contains it; create missing mappings."""
        parts = _split(path)
        at: Any = self.data
        place: list[str | int] = []
        while parts:
            if isinstance(at, list):
                head, parts = parts[0], parts[1:]
                if not head.isdigit() or int(head) >= len(at):
                    raise UsageError(f"'{shown}': {dotted(place)} is a list of {len(at)}", "name an item by 0, 1, 2 …")
                step: str | int = int(head)
            elif isinstance(at, dict):
                within = self.kind.dotted_sections.get(str(place[0])) if len(place) == 1 else None
                step, parts = _longest_key(at, parts) if within is None else _dotted_key(at, parts, within)
            else:
                raise UsageError(
                    f"'{shown}': {dotted(place)} is {at!r}, and nothing is inside it", f"set '{dotted(place)}' whole"
                )
            place.append(step)
            if (
                parts
                and isinstance(at, dict)
                and step not in at
                and len(place) == 2
                and place[0] in self.kind.named_sections
            ):
                known = did_you_mean(str(step), at) or (f"there are: {', '.join(at)}" if at else "there are none yet")
                hint = f"{known}  a new one is set whole: {dotted(place)}={{…}}"
                raise UsageError(f"'{shown}': there is no '{step}' in {place[0]}", hint)
            if parts:
                at = at.setdefault(step, {}) if isinstance(at, dict) else at[int(step)]
        return tuple(place), at

    def _forget(self, place: Place) -> None:
        for marks in (self._keys, self._values, self._options):
            for old in [each for each in marks if each[: len(place)] == place]:
                del marks[old]

    # -- positions ----------------------------------------------------------------------------------------------------

    def where(self, place: Place, *, key: bool = False) -> str:
        """Position of the value at `place` (or of its key) as `file.yaml:12:5`, or the option that set it."""
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
        """Command-line options that set the value at `place`, or a part of it."""
        return [option for at, option in self._options.items() if at[: len(place)] == place]

    def tag_option(self, mapping: Place) -> str | None:
        """Command-line option that selected another model for the mapping at a place, such as its `kind`."""
        return next(
            (self._options[*mapping, key] for key in self.kind.tag_keys if (*mapping, key) in self._options), None
        )

    def fault(
        self, place: Place, message: str, hint: str | None = None, *, key: bool = False, cause: str | None = None
    ) -> UsageError:
        """Error of the document's kind, with the position in front, or with the option that is its `cause`."""
        where = cause or self.where(place, key=key)
        return self.kind.error(f"{where}: {message}" if where else message, hint)


class _Reader:
    """Convert YAML nodes to data and record their positions in the document.

    `is_option`: the text is the value of an option, which errors name with a column instead of `file.yaml:12:5`.
    """

    def __init__(self, document: Document, *, is_option: bool = False) -> None:
        self.document = document
        self.is_option = is_option
        self.kind = document.kind
        self.left = MOST_VALUES

    def read(self, text: str) -> dict[str, Any]:
        root = self._root(text, _kept_nodes if len(text) <= _LONGEST_KEPT else _nodes)
        if root is None:
            raise self.kind.error(f"{self.document.origin} is empty", self.kind.empty_hint)
        if not isinstance(root, yaml.MappingNode):
            raise self._fault(root, f"a {self.kind.noun} is a mapping of keys to values", self.kind.start_hint)
        data: dict[str, Any] = self._data(root, ())
        return data

    def value(self, text: str) -> Any:
        root = self._root(text, _nodes)
        return None if root is None else self._data(root, ())

    def _root(self, text: str, compose: Callable[[str], yaml.Node | None]) -> yaml.Node | None:
        try:
            root = compose(text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = (error.problem or "cannot be read").replace("\n", " ")
            end = "the end of the value" if self.is_option else "the end of the file"
            problem = problem.replace("'<stream end>'", end)
            if self.is_option:
                column = f" at column {mark.column + 1}" if mark else ""
                message = f"{self.document.origin}: the value is not YAML{column}: {problem}"
                raise self.kind.error(message, "look at its quotes and brackets") from None
            at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
            tab = "\\t" in problem
            hint = "indent with spaces, not tabs" if tab else "look at the indentation, quotes and brackets there"
            raise self.kind.error(f"{self.document.origin}{at}: not YAML: {problem}", hint) from None
        except yaml.YAMLError as error:
            reason = " ".join(str(error).split())
            if self.is_option:
                raise self.kind.error(f"{self.document.origin}: the value is not YAML: {reason}") from None
            raise self.kind.error(
                f"{self.document.origin}: not YAML: {reason}", "save the file as plain text"
            ) from None
        except RecursionError:
            raise self.kind.error(
                f"{self.document.origin} is nested too deeply", f"a {self.kind.noun} needs few levels"
            ) from None
        return root

    def _data(self, node: yaml.Node, place: Place) -> Any:
        self.left -= 1
        if self.left < 0:
            raise self._fault(
                node, f"more than {MOST_VALUES:,} values, too many for a {self.kind.noun}", "aliases multiply"
            )
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
        if tag in {"float", "int", "str"} and any(map(str.isdigit, text)) and DECIMAL.fullmatch(text):
            return Decimal(text.replace("_", ""))
        if tag in {"str", "int", "float", "bool", "timestamp", "value", "merge"}:
            return text
        raise self._fault(node, f"the tag '{node.tag}' means nothing here", "leave it out")

    def _fault(self, node: yaml.Node, message: str, hint: str | None = None) -> UsageError:
        mark = _mark(node)
        if self.is_option:
            return self.kind.error(f"{self.document.origin}: {message}, at column {mark.column} of the value", hint)
        return self.kind.error(f"{self.document.origin}:{mark.line}:{mark.column}: {message}", hint)


def _nodes(text: str) -> yaml.Node | None:
    root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return root


@lru_cache(maxsize=32)
def _kept_nodes(text: str) -> yaml.Node | None:
    """Return the nodes of a document, which are only read: one that is opened again is not parsed again."""
    return _nodes(text)


def _mark(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def _split(path: str) -> list[str]:
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|([^.]+)', path)]


def _dotted_key(at: Mapping[str, Any], parts: list[str], following: frozenset[str]) -> tuple[str, list[str]]:
    """Split off a key that contains dots: what precedes the first of `following`, else all.

    A number at its end is an index if the key before it holds a list. If the last part resembles one of `following`, it
    is a misspelt one and no part of the key.
    """
    end = next((length for length in range(1, len(parts)) if parts[length] in following), len(parts))
    index = parts[end - 1].isdigit() and isinstance(at.get(".".join(parts[: end - 1])), list)
    whole = end == len(parts) > 2 and ".".join(parts) not in at
    if index or (whole and did_you_mean(parts[-1], following)):
        end -= 1
    return ".".join(parts[:end]), parts[end:]


def _longest_key(at: Mapping[str, Any], parts: list[str]) -> tuple[str, list[str]]:
    """Split off the longest existing key, such as `USDC.e`, else the first part.

    The numbers after a pair belong to a key that is new: `DAI/USDC.500`, `DAI/USDC.96.5`.
    """
    for length in range(len(parts), 1, -1):
        joined = ".".join(parts[:length])
        if joined in at:
            return joined, parts[length:]
    end = 1
    while "/" in parts[0] and parts[0] not in at and end < len(parts) and parts[end].isdigit():
        end += 1
    return ".".join(parts[:end]), parts[end:]
