"""Protocols of one's own in scenarios: each is a mapping with its `kind` and the keys of that kind."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import SerializeAsAny, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from mayavi.errors import SetupError, UnknownName
from mayavi.plugins.import_path import is_import_path
from mayavi.protocols.registry import find_protocol, is_loaded
from mayavi.settings.model import Model


class OwnProtocolSettings(Model):
    """Settings of a protocol of one's own: subclass it as `Settings` of the adapter, and add its keys."""

    kind: str
    """Import path of the adapter, `vault:Vault`, or the name of an entry point."""


def _own_kind(data: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Check settings against the model of their adapter. Import paths are imported by `load_scenario`, never here."""
    if not isinstance(data, dict):
        return check(data)
    kind = data.get("kind")
    if not isinstance(kind, str):
        return check({"kind": kind} if "kind" in data else {})
    if is_import_path(kind) and not is_loaded(kind):
        raise PydanticCustomError("rule", "{message}", {"message": f"'{kind}' is not imported", "at": ("kind",)})
    try:
        found = find_protocol(kind)
    except UnknownName as error:
        facts = {"message": error.message, "hint": error.hint, "at": ("kind",)}
        raise PydanticCustomError("rule", "{message}", facts) from error
    model = settings_model(found.adapter)
    return model.model_validate(data)


def settings_model(adapter: type[Any]) -> type[OwnProtocolSettings]:
    """Return the model of an adapter's settings; raise `SetupError` if `Settings` is no such model."""
    model = getattr(adapter, "Settings", OwnProtocolSettings)
    if not isinstance(model, type) or not issubclass(model, OwnProtocolSettings):
        raise SetupError(
            f"the settings of '{adapter.__name__}' are not OwnProtocolSettings",
            "write `class Settings(OwnProtocolSettings)`, from mayavi.scenarios.setting_types",
        )
    return model


ProtocolModel = Annotated[OwnProtocolSettings, WrapValidator(_own_kind), SerializeAsAny()]
