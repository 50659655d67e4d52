"""Parts of a settings model that are built when a document has them."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class OnUse:
    """Annotation of a field that few documents have: its validator is built for the first value, not with the model.

    Values, errors and the JSON schema are those of the field without the annotation, in strict mode. The type is a
    mapping, a list or a union, not a model itself; `annotated` is that type if it has other annotations or constraints.
    """

    def __init__(self, annotated: Any = None) -> None:
        self._annotated = annotated

    def __get_pydantic_core_schema__(self, source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        @cache
        def adapter() -> TypeAdapter[Any]:
            return TypeAdapter(self._annotated or source, config=ConfigDict(strict=True, allow_inf_nan=False))

        def json_schema(_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
            return handler(adapter().core_schema)

        return core_schema.no_info_plain_validator_function(
            lambda value: adapter().validate_python(value), metadata={"pydantic_js_functions": [json_schema]}
        )
