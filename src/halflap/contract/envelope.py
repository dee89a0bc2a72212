"""The envelope around every answer: success, data or error, and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from halflap.contract.relations import KEYWORD

T = TypeVar("T")


class ErrorCode(StrEnum):
    """The codes any tool may use; a server adds its own with another `StrEnum`."""

    NOT_FOUND = "NOT_FOUND"
    INVALID_QUERY = "INVALID_QUERY"
    RATE_LIMITED = "RATE_LIMITED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    TIMEOUT = "TIMEOUT"
    INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True)
class ResponseMetadata:
    """Metadata of an answer. The contract fills in time and source if they are missing."""

    execution_time_ms: int = 0
    source: str = ""
    cached: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """Why a call failed."""

    code: str
    message: str
    details: Mapping[str, Any] | None = None
    retry_after_seconds: int | None = None
    """For RATE_LIMITED errors, and only for them."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without the fields that are not set."""
        sent: dict[str, Any] = {"code": str(self.code), "message": self.message}
        if self.details is not None:
            sent["details"] = to_jsonable_python(dict(self.details), by_alias=True, inf_nan_mode="strings")
        if self.retry_after_seconds is not None:
            sent["retry_after_seconds"] = self.retry_after_seconds
        return sent


@dataclass(frozen=True)
class ToolResponse(Generic[T]):
    """An answer: data on success, an error otherwise, metadata always."""

    success: bool
    data: T | None = None
    metadata: ResponseMetadata = field(default_factory=ResponseMetadata)
    error: ErrorDetail | None = None

    @classmethod
    def of(cls, data: T, metadata: ResponseMetadata | None = None) -> ToolResponse[T]:
        """Return a successful response."""
        return cls(success=True, data=data, metadata=metadata or ResponseMetadata())

    @classmethod
    def failed(cls, error: ErrorDetail, metadata: ResponseMetadata | None = None) -> ToolResponse[T]:
        """Return a failed response."""
        return cls(success=False, metadata=metadata or ResponseMetadata(), error=error)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; a failed response has no `data` key."""
        sent: dict[str, Any] = {"success": self.success, "metadata": self.metadata.to_json()}
        if self.error is not None:
            sent["error"] = self.error.to_json()
        if self.success:
            kind: Any = type(self.data)
            sent["data"] = TypeAdapter(kind).dump_python(self.data, mode="json", by_alias=True)
        return sent


def envelope_schema(data: Mapping[str, Any], codes: Iterable[str]) -> dict[str, Any]:
    """Return the schema of an answer: success with this data, or an error with one of these codes."""
    inner = {key: value for key, value in data.items() if key not in {"$defs", "$schema"}}
    inner.setdefault("description", "Tool-specific response data")
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "oneOf": [
            {
                "type": "object",
                "required": ["success", "data", "metadata"],
                "properties": {"success": {"const": True, **_SUCCESS}, "data": inner, "metadata": _METADATA},
                "not": {"required": ["error"]},
            },
            {
                "type": "object",
                "required": ["success", "metadata", "error"],
                "properties": {
                    "success": {"const": False, **_SUCCESS},
                    "metadata": _METADATA,
                    "error": _error_schema([str(code) for code in codes]),
                },
                "not": {"required": ["data"]},
            },
        ],
    }
    return schema | ({"$defs": data["$defs"]} if data.get("$defs") else {})


_SUCCESS = {"description": "Whether the operation succeeded"}
_METADATA: dict[str, Any] = {
    "type": "object",
    "description": "How the answer came about",
    "required": ["execution_time_ms", "source", "cached"],
    "properties": {
        "execution_time_ms": {
            "type": "integer",
            "minimum": 0,
            "description": "How long the tool took. Unit: milliseconds.",
            KEYWORD: {"unit": "milliseconds"},
        },
        "source": {"type": "string", "description": "Where the data comes from"},
        "cached": {"type": "boolean", "description": "Whether the data is from an earlier call"},
    },
}


def _error_schema(codes: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "Present only when success is false",
        "required": ["code", "message"],
        "properties": {
            "code": {"type": "string", "enum": codes, "description": "What kind of error it is"},
            "message": {"type": "string", "minLength": 1, "description": "What went wrong, and what to do"},
            "details": {"type": "object", "description": "More information, for programs"},
            "retry_after_seconds": {
                "type": "integer",
                "minimum": 0,
                "description": "Present for RATE_LIMITED errors. Unit: seconds.",
                KEYWORD: {"unit": "seconds"},
            },
        },
        "if": {"properties": {"code": {"const": str(ErrorCode.RATE_LIMITED)}}, "required": ["code"]},
        "then": {"required": ["retry_after_seconds"]},
        "else": {"not": {"required": ["retry_after_seconds"]}},
    }
