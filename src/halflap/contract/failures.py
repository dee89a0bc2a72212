"""What a tool raises to answer with an error, and which code any other exception stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar

from halflap.contract.envelope import ErrorCode, ErrorDetail

__all__ = [
    "ContractError",
    "Failures",
    "InvalidQuery",
    "NotFound",
    "PermissionDenied",
    "RateLimited",
    "TimedOut",
    "Told",
]

_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_GENERAL: dict[str, str] = {
    ErrorCode.NOT_FOUND: "What was asked for is not there.",
    ErrorCode.INVALID_QUERY: "The arguments do not make a query that can be answered.",
    ErrorCode.PERMISSION_DENIED: "This is not permitted.",
    ErrorCode.TIMEOUT: "It took too long; try again later, or ask for less.",
    ErrorCode.INTERNAL_ERROR: "The tool failed; this is a fault of the server, which has the details in its log.",
}
"""What is told where only the code is known: the text of an exception may be anything, a path or a password."""


class ContractError(Exception):
    """An error that the caller is told of as it is.

    A code of one's own makes it a class: `class CreditHold(ContractError): code = SalesCode.CREDIT_HOLD`.
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


class NotFound(ContractError):  # noqa: N818 -- read as what it says: raise NotFound
    """What was asked for is not there."""

    code = ErrorCode.NOT_FOUND


class InvalidQuery(ContractError):  # noqa: N818
    """The arguments are of the right types, and yet do not make a query."""

    code = ErrorCode.INVALID_QUERY


class PermissionDenied(ContractError):  # noqa: N818
    """The caller may not do this."""

    code = ErrorCode.PERMISSION_DENIED


class TimedOut(ContractError):  # noqa: N818
    """It took too long."""

    code = ErrorCode.TIMEOUT


class RateLimited(ContractError):  # noqa: N818
    """Too many calls: it has to say when to try again."""

    code = ErrorCode.RATE_LIMITED

    def __init__(
        self, message: str, *, retry_after_seconds: int, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, details=details, retry_after_seconds=retry_after_seconds)


Told = str | tuple[str, str] | Callable[[Any], ContractError]
"""What an exception stands for: a code; a code and a message; or what makes a ContractError of it."""

_ALWAYS: dict[type[BaseException], Told] = {
    TimeoutError: ErrorCode.TIMEOUT,
    PermissionError: ErrorCode.PERMISSION_DENIED,
}


class Failures:
    """The codes that a server's tools may answer with, and the exceptions that stand for them."""

    def __init__(
        self, codes: type[StrEnum] | None = None, errors: Mapping[type[Exception], Told] | None = None
    ) -> None:
        given: Any = codes
        if given is not None and not (isinstance(given, type) and issubclass(given, StrEnum)):
            raise TypeError(f"`codes` is a StrEnum of error codes, not {given!r}.")
        own = [] if codes is None else [str(one) for one in codes]
        for code in own:
            if not _CODE.fullmatch(code):
                raise ValueError(
                    f"An error code is written like NOT_FOUND, in at most 64 characters; not {code!r}."
                )
        self.codes = tuple(dict.fromkeys([*map(str, ErrorCode), *own]))
        self._table: dict[type, Told] = {**_ALWAYS, **(errors or {})}
        for raised, told in (errors or {}).items():
            self._check(raised, told)

    def _check(self, raised: Any, told: Any) -> None:
        if not isinstance(raised, type) or not issubclass(raised, Exception):
            raise TypeError(f"`errors` has exceptions as its keys, such as KeyError; not {raised!r}.")
        code = told[0] if isinstance(told, tuple) and len(told) == 2 else told  # noqa: PLR2004 -- code and message
        if callable(told):
            return
        if not isinstance(code, str) or code not in self.codes:
            raise ValueError(
                f"`errors` maps {raised.__name__} to {told!r}, which is none of the codes {', '.join(self.codes)}. "
                "Give a code, a code and a message, or a function that makes a ContractError of the exception; codes "
                "of your own are given as `codes`."
            )
        if code == ErrorCode.RATE_LIMITED:
            raise ValueError(
                f"`errors` maps {raised.__name__} to RATE_LIMITED, which has to say when to try again: give a function "
                "that makes a RateLimited of the exception."
            )

    def error_of(self, raised: BaseException) -> tuple[ErrorDetail, bool]:
        """Give the error that an exception stands for, and whether it was anticipated: what was not is a crash."""
        raised = _alone(raised)
        if isinstance(raised, ContractError):
            return raised.error, True
        for kind in type(raised).__mro__:
            told = self._table.get(kind)
            if told is None:
                continue
            if isinstance(told, tuple):
                return ErrorDetail(*told), True
            if isinstance(told, str):
                return self.general(told), True
            made: object = told(raised)
            if isinstance(made, ContractError):
                return made.error, True
            break
        return self.general(ErrorCode.INTERNAL_ERROR), False

    @staticmethod
    def general(code: str) -> ErrorDetail:
        """Give an error of which nothing but its code is to be told."""
        return ErrorDetail(code, _GENERAL.get(code, f"The tool answered {code}."))


def _alone(raised: BaseException) -> BaseException:
    """Take the one exception out of the group that a task group makes of it."""
    while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    return raised
