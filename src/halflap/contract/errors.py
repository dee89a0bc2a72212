"""Exceptions that become error answers, and the table that maps other exceptions to codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar

from halflap.contract.envelope import ErrorCode, ErrorDetail

# Used instead of the exception's own message, which may contain a path or a password.
_GENERAL: dict[str, str] = {
    ErrorCode.NOT_FOUND: "Not found.",
    ErrorCode.INVALID_QUERY: "The arguments do not make a valid query.",
    ErrorCode.PERMISSION_DENIED: "Permission denied.",
    ErrorCode.TIMEOUT: "The tool timed out. Try again later, or ask for less.",
    ErrorCode.INTERNAL_ERROR: "The tool failed because of a fault in the server; its log has the details.",
}


class ContractError(Exception):
    """An error whose code and message the caller sees as they are.

    For your own code, write a subclass: `class CreditHold(ContractError): code = SalesCode.CREDIT_HOLD`.
    """

    code: ClassVar[str] = ErrorCode.INTERNAL_ERROR

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.error = ErrorDetail(code or type(self).code, message, details, retry_after_seconds)


class NotFound(ContractError):  # noqa: N818 -- reads well: raise NotFound(…)
    """What the caller asked for does not exist."""

    code = ErrorCode.NOT_FOUND


class InvalidQuery(ContractError):  # noqa: N818
    """The arguments have the right types but are invalid together."""

    code = ErrorCode.INVALID_QUERY


class PermissionDenied(ContractError):  # noqa: N818
    """The caller is not allowed to do this."""

    code = ErrorCode.PERMISSION_DENIED


class TimedOut(ContractError):  # noqa: N818
    """The work took too long."""

    code = ErrorCode.TIMEOUT


class RateLimited(ContractError):  # noqa: N818
    """Too many calls, with the time to wait."""

    code = ErrorCode.RATE_LIMITED

    def __init__(
        self, message: str, *, retry_after_seconds: int, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, details=details, retry_after_seconds=retry_after_seconds)


Translation = str | tuple[str, str] | Callable[[Any], ContractError]
"""What an exception becomes: a code, a code with a message, or a function that returns a ContractError."""

_DEFAULT: dict[type[BaseException], Translation] = {
    TimeoutError: ErrorCode.TIMEOUT,
    PermissionError: ErrorCode.PERMISSION_DENIED,
}


class ErrorTable:
    """The error codes of a server's tools, and the exceptions that map to them."""

    def __init__(
        self, codes: type[StrEnum] | None = None, errors: Mapping[type[Exception], Translation] | None = None
    ) -> None:
        self.codes = tuple(dict.fromkeys([*map(str, ErrorCode), *map(str, codes or ())]))
        self._table: dict[type, Translation] = {**_DEFAULT, **(errors or {})}
        for raised, translation in self._table.items():
            code = translation[0] if isinstance(translation, tuple) else translation
            if isinstance(code, str) and (code not in self.codes or code == ErrorCode.RATE_LIMITED):
                raise ValueError(
                    f"`errors` maps {raised.__name__} to {code!r}. Use one of the codes {', '.join(self.codes)}, a "
                    "(code, message) pair, or a function that returns a ContractError; RATE_LIMITED needs a function "
                    "that returns a RateLimited, and your own codes go into `codes`."
                )

    def translate(self, raised: BaseException) -> tuple[ErrorDetail, bool]:
        """Return the error for an exception, and whether the exception was expected."""
        while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
            raised = raised.exceptions[0]  # a task group wraps the one exception of its task
        if isinstance(raised, ContractError):
            return raised.error, True
        for kind in type(raised).__mro__:
            translation = self._table.get(kind)
            if translation is None:
                continue
            if isinstance(translation, tuple):
                return ErrorDetail(*translation), True
            if isinstance(translation, str):
                return self.general(translation), True
            made: object = translation(raised)
            if isinstance(made, ContractError):
                return made.error, True
            break
        return self.general(ErrorCode.INTERNAL_ERROR), False

    @staticmethod
    def general(code: str) -> ErrorDetail:
        """Return an error that reveals nothing but its code."""
        return ErrorDetail(code, _GENERAL.get(code, f"The tool failed with {code}."))
