"""Write plain data as YAML that a document reads back the same."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import yaml

from mayavi.settings.document import DECIMAL


def to_yaml(data: Mapping[str, Any]) -> str:
    """Write `data` as YAML that reads back the same: keys in order, numbers with all digits."""
    text: str = yaml.dump(_plain(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Write decimals exactly, and text of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write anchors: repeated values are written out."""
        del data
        return True


def _as_decimal(dumper: yaml.SafeDumper, value: Decimal) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:float", format(value, "f"))


def _as_text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    # Quoted where it would read as a number.
    style = "|" if "\n" in value else "'" if DECIMAL.fullmatch(value) else None
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
