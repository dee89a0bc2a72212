"""A page of results, in the form every paged tool returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import Field, WithJsonSchema

from halflap.contract.relations import unit

T = TypeVar("T")


def _is_none(value: object) -> bool:
    return value is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """The position of a page, and how to get the next one."""

    total_count: Annotated[
        int | None,
        WithJsonSchema({"type": "integer", "minimum": 0}),
        Field(exclude_if=_is_none, description="Number of results on all pages"),
        unit("results"),
    ] = None
    page_size: Annotated[int, Field(ge=0, description="Number of results on this page"), unit("results")]
    has_more: Annotated[bool, Field(description="Whether there are more pages")]
    next_cursor: Annotated[
        str | None,
        WithJsonSchema({"type": "string"}),
        Field(exclude_if=_is_none, description="Pass to 'cursor' parameter to get next page"),
    ] = None

    def __post_init__(self) -> None:
        if self.has_more != (self.next_cursor is not None):
            raise ValueError("A page has a next_cursor exactly when has_more is true.")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of the results, in order."""

    results: Annotated[list[T], Field(description="The results on this page, in order")]
    pagination: Annotated[Pagination, Field(description="How many results there are, and how to get more")]
