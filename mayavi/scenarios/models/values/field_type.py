"""Type of a field as pydantic declares it: plain type, metadata, bounds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo


@dataclass(frozen=True, slots=True)
class FieldType:
    """The plain type of a value with everything that `Annotated` adds to it."""

    plain: Any
    metadata: tuple[Any, ...] = ()

    @classmethod
    def of(cls, annotation: Any, value: Any, metadata: tuple[Any, ...] = ()) -> FieldType:
        """Unwrap `annotation`; of a union, take the member that fits `value`."""
        while get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata = (*more, *metadata)
        if get_origin(annotation) in {Union, UnionType}:
            members = [cls.of(each, value) for each in get_args(annotation) if each is not type(None)]
            fitting = next((each for each in members if each.fits(value)), None)
            if fitting is not None:
                return cls(fitting.plain, (*fitting.metadata, *metadata))
        return cls(annotation, metadata)

    def fits(self, value: Any) -> bool:
        """Whether `value` is of the plain type."""
        if get_origin(self.plain) is Literal:
            return value in get_args(self.plain) if isinstance(value, str | int) else False
        plain = get_origin(self.plain) or self.plain
        return isinstance(plain, type) and isinstance(value, plain)

    def item(self, value: Any) -> FieldType:
        """Return the type of the items of a list, or of the values of a mapping."""
        arguments = get_args(self.plain)
        return FieldType.of(arguments[-1], value) if arguments else FieldType(type(value))

    def includes(self, quantity: Any) -> bool:
        """Whether this is `quantity`, an `Annotated` type such as `Share`, perhaps with more metadata."""
        plain, *metadata = get_args(quantity)
        return self.plain is plain and all(each in self.metadata for each in metadata)

    @property
    def choices(self) -> tuple[Any, ...]:
        """Values of a `Literal` or `bool`; empty for other types."""
        if self.plain is bool:
            return (False, True)
        return get_args(self.plain) if get_origin(self.plain) is Literal else ()

    @property
    def bounds(self) -> tuple[Decimal | None, Decimal | None]:
        """Lowest and highest value that `Field(ge=…, le=…)` allows."""
        low: Decimal | None = None
        high: Decimal | None = None
        for each in self.metadata:
            for limit in each.metadata if isinstance(each, FieldInfo) else (each,):
                low = Decimal(str(limit.ge)) if getattr(limit, "ge", None) is not None else low
                high = Decimal(str(limit.le)) if getattr(limit, "le", None) is not None else high
        return low, high
