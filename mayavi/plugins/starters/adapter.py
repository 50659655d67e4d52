"""Text of an adapter for a compiled contract: a method for each of its functions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from mayavi.plugins.starters.files import class_name

_VIEWS = {"view", "pure"}
_TAKEN = {"fork", "contract", "deploy", "figures", "Settings"}


def adapter_files(name: str, contract: str, source: str, abi: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the adapter of a contract and its test, by file name. `source` is the path that is deployed."""
    constructor: Sequence[Mapping[str, Any]] = next(
        (each.get("inputs", ()) for each in abi if each.get("type") == "constructor"), ()
    )
    functions = [each for each in abi if each.get("type") == "function"]
    settings = "\n".join(_setting(each, at) for at, each in enumerate(constructor)) or _NO_SETTINGS
    words = {
        "name": name,
        "Name": class_name(name),
        "contract": contract,
        "source": source,
        "settings": settings,
        "constructor": _arguments(constructor),
        "methods": "\n".join(_methods(functions)),
        "figures": _figures(functions),
        "defaults": "".join(f", {_word(each, at)}={_default(each)!r}" for at, each in enumerate(constructor)),
    }
    texts = {f"{name}.py": "adapter.py.in", f"test_{name}.py": "adapter_test.py.in"}
    return {file: _template(each).substitute(words) for file, each in texts.items()}


def _template(name: str) -> Template:
    return Template(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_NO_SETTINGS = '        """The contract takes no arguments."""'


def _setting(parameter: Mapping[str, Any], at: int) -> str:
    return f"        {_word(parameter, at)}: {_python_type(parameter)}"


def _arguments(parameters: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f", settings.{_word(each, at)}" for at, each in enumerate(parameters))


def _methods(functions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A method for each function; overloads and names that Python keeps get a number."""
    texts, taken = [], set(_TAKEN)
    for function in functions:
        name = _snake(str(function["name"]))
        while name in taken or keyword.iskeyword(name):
            name = f"{name}_2"
        taken.add(name)
        inputs = function.get("inputs", ())
        parameters = "".join(f", {_word(each, at)}: {_python_type(each)}" for at, each in enumerate(inputs))
        given = ", ".join(_word(each, at) for at, each in enumerate(inputs))
        signature = f"{function['name']}({','.join(_abi_type(each) for each in inputs)})"
        reads = function.get("stateMutability") in _VIEWS
        payable = function.get("stateMutability") == "payable"
        words = {
            "method": name,
            "function": function["name"],
            "signature": signature,
            "parameters": parameters,
            "given": given if reads or not given else f"{given}, ",
            "value": ", value: int = 0" if payable else "",
            "passed": ", value=value" if payable else "",
        }
        texts.append(_template("adapter_view.in" if reads else "adapter_send.in").substitute(words))
    return texts


def _figures(functions: Sequence[Mapping[str, Any]]) -> str:
    """Views without arguments that return one unsigned integer."""
    found = [
        each["name"]
        for each in functions
        if each.get("stateMutability") in _VIEWS
        and not each.get("inputs")
        and [str(output["type"]).startswith("uint") for output in each.get("outputs", ())] == [True]
    ]
    return ", ".join(f'"{_snake(each)}": (int(self.contract.{each}()), "count")' for each in found)


def _word(parameter: Mapping[str, Any], at: int) -> str:
    word = _snake(str(parameter.get("name") or "")).strip("_") or f"argument_{at + 1}"
    return f"{word}_" if keyword.iskeyword(word) or word in {"self", "sender", "value", "kind"} else word


def _snake(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"\W", "_", words).lower()


def _python_type(parameter: Mapping[str, Any]) -> str:
    kind = str(parameter["type"])
    if "[" in kind or kind.startswith("tuple"):
        return "list[Any]"
    if kind.startswith(("uint", "int")):
        return "int"
    return {"bool": "bool"}.get(kind, "str")


def _abi_type(parameter: Mapping[str, Any]) -> str:
    kind = str(parameter["type"])
    if not kind.startswith("tuple"):
        return kind
    inside = ",".join(_abi_type(each) for each in parameter.get("components", ()))
    return f"({inside}){kind.removeprefix('tuple')}"


def _default(parameter: Mapping[str, Any]) -> object:
    kind = str(parameter["type"])
    if kind == "address":
        return "USDC"
    by_type: dict[str, object] = {"list[Any]": [], "int": 0, "bool": False}
    return by_type.get(_python_type(parameter), "0x" if kind == "bytes" else "")
