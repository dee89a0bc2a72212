"""The envelope that every tool of a server answers with: whether it succeeded, the data or the error, and metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from halflap.contract.finite import in_words
from halflap.contract.structs import is_struct, struct_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ErrorCode", "ErrorDetail", "ResponseMetadata", "ToolResponse"]

T = TypeVar("T")


class ErrorCode(StrEnum):
    """What can go wrong with any tool; a server adds codes of its own as another `StrEnum`."""

    NOT_FOUND = "NOT_FOUND"
    INVALID_QUERY = "INVALID_QUERY"
    RATE_LIMITED = "RATE_LIMITED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    TIMEOUT = "TIMEOUT"
    INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True)
class ResponseMetadata:
    """What is told of the answer, whatever it is."""

    execution_time_ms: int = 0
    source: str = ""
    cached: bool = False

    def to_json(self) -> dict[str, Any]:
        """Give it as it is sent."""
        return {
            "execution_time_ms": self.execution_time_ms,
            "source": self.source,
            "cached": self.cached,
        }


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """Why there are no data."""

    code: str
    message: str
    details: Mapping[str, Any] | None = None
    retry_after_seconds: int | None = None
    """When to try again: given for RATE_LIMITED, and for nothing else."""

    def __post_init__(self) -> None:
        seconds = self.retry_after_seconds
        if self.code == ErrorCode.RATE_LIMITED:
            if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 0:
                raise ValueError(
                    f"An error RATE_LIMITED needs retry_after_seconds, a whole number of at least 0, not {seconds!r}."
                )
        elif seconds is not None:
            raise ValueError(f"Only RATE_LIMITED has retry_after_seconds; {self.code} has none.")
        if not self.message:
            raise ValueError(f"An error {self.code} needs a message that says what was wrong and what to do.")

    def to_json(self) -> dict[str, Any]:
        """Give it as it is sent: what is not there is left out."""
        sent: dict[str, Any] = {"code": str(self.code), "message": self.message}
        if self.details is not None:
            sent["details"] = in_words(to_jsonable_python(dict(self.details), by_alias=True))
        if self.retry_after_seconds is not None:
            sent["retry_after_seconds"] = self.retry_after_seconds
        return sent


@dataclass(frozen=True)
class ToolResponse(Generic[T]):
    """An answer: data if it succeeded, an error if it did not, metadata always."""

    success: bool
    data: T | None = None
    metadata: ResponseMetadata = field(default_factory=ResponseMetadata)
    error: ErrorDetail | None = None

    def __post_init__(self) -> None:
        if self.success and self.error is not None:
            raise ValueError(
                "A response that succeeded has no error: leave it out, or use ToolResponse.failed()."
            )
        if not self.success and self.error is None:
            raise ValueError("A response that did not succeed has an error: use ToolResponse.failed(error).")
        if not self.success and self.data is not None:
            raise ValueError(
                "A response that did not succeed has no data: put them into the error's details."
            )

    @classmethod
    def of(cls, data: T, metadata: ResponseMetadata | None = None) -> ToolResponse[T]:
        """Answer with data; what metadata leave out, the contract fills in."""
        return cls(success=True, data=data, metadata=metadata or ResponseMetadata())

    @classmethod
    def failed(cls, error: ErrorDetail, metadata: ResponseMetadata | None = None) -> ToolResponse[T]:
        """Answer with an error."""
        return cls(success=False, metadata=metadata or ResponseMetadata(), error=error)

    def to_json(self) -> dict[str, Any]:
        """Give it as it is sent: an error has no `data`."""
        if self.error is not None:
            return {"success": False, "metadata": self.metadata.to_json(), "error": self.error.to_json()}
        return {"success": True, "data": _as_json(self.data), "metadata": self.metadata.to_json()}


def _as_json(data: Any) -> Any:
    if is_struct(type(data)):
        return struct_to_json(data)
    kind: Any = type(data)
    return _adapter(kind).dump_python(data, mode="json", by_alias=True, fallback=struct_to_json)


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
