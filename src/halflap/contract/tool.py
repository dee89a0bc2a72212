"""A typed function as a tool that keeps a contract: it is timed, enveloped and looked at before its answer leaves."""

from __future__ import annotations

import functools
import inspect
import logging
import time
from dataclasses import dataclass, field, replace
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_type_hints,
)

from pydantic_core import to_json

from halflap.contract.checks import Checks
from halflap.contract.envelope import ErrorCode, ErrorDetail, ResponseMetadata, ToolResponse
from halflap.contract.failures import Failures
from halflap.contract.finite import place_of_endless, place_of_half
from halflap.contract.invariants import Breach, path_text, placed
from halflap.contract.output import (
    data_type,
    encoder_of,
    envelope_schema,
    leaves_open,
    output_schema,
    unwritten_of,
)
from halflap.contract.reach import Reach
from halflap.contract.unheld import unheld

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from enum import StrEnum

    from halflap.contract.failures import Told
    from halflap.contract.invariants import Invariant

__all__ = ["Answer", "Contract", "ContractTool", "Decorator"]

F = TypeVar("F", bound="Callable[..., Any]")

_log = logging.getLogger("halflap.contract")


class Decorator(Protocol):
    """What makes functions tools of a server, and leaves them as they are."""

    def __call__(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        invariants: Sequence[Invariant] = (),
        source: str | None = None,
        **settings: Any,
    ) -> Callable[[F], F]:
        """Give the decorator; `settings` are those of the server's own."""
        ...


class Answer(NamedTuple):
    """What a tool answers with: the envelope, and the same as JSON text."""

    structured: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Contract:
    """What all tools of a server have in common."""

    source: str
    """Where the data come from, as `metadata.source` says it."""
    codes: type[StrEnum] | None = None
    """Error codes of one's own, beside those of ErrorCode."""
    errors: Mapping[type[Exception], Told] = field(default_factory=dict)
    """Which code an exception stands for, beside TimeoutError (TIMEOUT) and PermissionError (PERMISSION_DENIED): a code;
    a code and a message; or a function that makes a ContractError of the exception."""
    failures: Failures = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _is_text(self.source):
            raise ValueError("A contract says where the data come from: Contract(source='crm').")
        object.__setattr__(self, "failures", Failures(self.codes, self.errors))


class ContractTool:
    """A typed function under a contract."""

    def __init__(
        self,
        function: Callable[..., Any],
        contract: Contract,
        *,
        name: str | None = None,
        description: str | None = None,
        invariants: Sequence[Invariant] = (),
        source: str | None = None,
        passing: tuple[type[BaseException], ...] = (),
        control: tuple[type, ...] = (),
    ) -> None:
        """Read the function's types.

        `passing` are exceptions, and `control` are results, that are the framework's own business.
        """
        written, self._bound = written_function(function)
        self.name = name or str(getattr(written, "__name__", ""))
        if not self.name or self.name in {"<lambda>", "__call__"}:
            raise ValueError("A tool needs a name: give `name`, or a function that has one.")
        self.function = function
        self.description = inspect.cleandoc(description or written.__doc__ or "")
        self.is_async = inspect.iscoroutinefunction(written)
        self.hints = _hints(written, self.name)
        self._failures = contract.failures
        self._source = contract.source if source is None else source
        if not _is_text(self._source):
            raise ValueError(f"The source of the tool {self.name} is a text, not {source!r}.")
        self._passing = passing
        self._control = control
        if "return" not in self.hints:
            raise TypeError(
                f"The tool {self.name} does not say what it returns: annotate it, as in `-> Customer`, so that callers know."
            )
        kind = data_type(_without(self.hints["return"], control))
        self.output_schema = envelope_schema(output_schema(kind), self._failures.codes)
        for where in unheld(kind):
            _log.warning(
                "%s: the bounds of %s are not held before its answer leaves, since JSON Schema has none for them; say them "
                "as an invariant.",
                self.name,
                where,
            )
        data = self.output_schema["oneOf"][0]["properties"]["data"]
        reach = Reach(data, self.output_schema.get("$defs", {}))
        rules = tuple(placed(one, reach, self.name) for one in invariants)
        self._encode = encoder_of(kind)
        self._as_is = unwritten_of(kind)
        self._is_open = leaves_open(kind, self.output_schema)
        try:
            self._checks = Checks(self.output_schema, rules)
        except ValueError as error:
            raise TypeError(
                f"What the tool {self.name} returns cannot be checked; mend its type: {error}"
            ) from error

    def parameters(self) -> list[inspect.Parameter]:
        """Give the function's parameters, with evaluated annotations, and without what a partial has bound."""
        return [
            one.replace(annotation=self.hints.get(one.name, one.annotation))
            for one in inspect.signature(self.function).parameters.values()
            if one.name not in self._bound
        ]

    def answer(self, *arguments: Any, **named: Any) -> Answer | Any:
        """Call a function that is not async."""
        started = time.perf_counter()
        try:
            value = self.function(*arguments, **named)
        except self._passing:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, the caller gets an answer
            return self._failed(error, _since(started))
        return self._done(value, _since(started))

    async def answer_async(self, *arguments: Any, **named: Any) -> Answer | Any:
        """Call an async function; to cancel it is not a failure of the tool."""
        started = time.perf_counter()
        try:
            value = await self.function(*arguments, **named)
        except self._passing:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, the caller gets an answer
            return self._failed(error, _since(started))
        return self._done(value, _since(started))

    def refuse(self, error: ErrorDetail) -> Answer:
        """Answer with an error, without a call."""
        return self._send(ToolResponse[Any].failed(error), None, 0)

    def failed(self, raised: Exception, started: float) -> Answer:
        """Answer with what an exception stands for that was raised before the function was called."""
        return self._failed(raised, _since(started))

    def _done(self, value: Any, took: int) -> Answer | Any:
        if self._control and isinstance(value, self._control):
            return value
        response = value if isinstance(value, ToolResponse) else ToolResponse.of(value)
        try:
            data = self._encode(response.data) if response.success else None
        except Exception:  # noqa: BLE001 -- whatever it is, the caller gets an answer
            _log.exception("%s: its result cannot be written as JSON", self.name)
            return self._send(ToolResponse.failed(_broken("data")), None, took)
        return self._send(response, data, took)

    def _endless(self, sent: dict[str, Any], text: bytes, value: Any) -> Breach | None:
        """Give where a number is that JSON has no word for; the text says fast that there is none."""
        # As keys of maps, they are written in their own ways.
        said = any(word in text for word in (b"NaN", b"Infinity", b'"nan":', b'inf":'))
        place = place_of_endless(sent) if said else None
        # A Decimal is written as a text; and where the type says nothing, pydantic writes null.
        hidden = said or (self._is_open and b"null" in text)
        if place is None and hidden and sent["success"]:
            inside = place_of_endless(self._as_is(value))
            place = None if inside is None else ("data", *inside)
        return None if place is None else Breach(path_text(place), "it is NaN or infinite")

    def _failed(self, raised: BaseException, took: int) -> Answer:
        try:
            error, anticipated = self._failures.error_of(raised)
        except Exception:  # noqa: BLE001 -- whatever it is, the caller gets an answer
            _log.exception("%s: the table of errors failed on %s", self.name, type(raised).__name__)
            error, anticipated = self._failures.general(ErrorCode.INTERNAL_ERROR), False
        if not anticipated:
            _log.error("%s raised %s", self.name, type(raised).__name__, exc_info=raised)
        return self._send(ToolResponse[Any].failed(error), None, took)

    def _send(self, response: ToolResponse[Any], data: Any, took: int) -> Answer:
        said = response.metadata
        metadata = replace(
            said, execution_time_ms=said.execution_time_ms or took, source=said.source or self._source
        )
        sent: dict[str, Any] = {}
        try:
            sent = _envelope(response, data, metadata)
            breach = self._checks.breach_of(sent)
            if breach is None:
                text = to_json(sent)
                breach = self._endless(sent, text, response.data)
            if breach is None:
                return Answer(sent, text.decode())
        except Exception:  # noqa: BLE001 -- whatever it is, the caller gets an answer
            _log.exception("%s: its answer cannot be sent", self.name)
            error = _broken(path_text(place_of_half(sent) or ()))
        else:
            _log.error("%s: its answer breaks its contract at %s: %s", self.name, breach.path, breach.reason)
            error = _broken(breach.path)
        # With metadata of our own: it may have been these that were wrong.
        sent = ToolResponse[Any].failed(error, ResponseMetadata(took, self._source)).to_json()
        return Answer(sent, to_json(sent).decode())


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _since(started: float) -> int:
    return int((time.perf_counter() - started) * 1000)


def _envelope(response: ToolResponse[Any], data: Any, metadata: ResponseMetadata) -> dict[str, Any]:
    if response.success:
        return {"success": True, "data": data, "metadata": metadata.to_json()}
    return replace(response, metadata=metadata).to_json()


def _broken(path: str) -> ErrorDetail:
    where = f" at {path}" if path else ""
    return ErrorDetail(
        ErrorCode.INTERNAL_ERROR,
        f"The tool's answer breaks its own contract{where}; this is a fault of the server, which has the details in its log.",
        {"path": path} if path else None,
    )


def written_function(function: Any) -> tuple[Any, frozenset[str]]:
    """Give the function that somebody wrote, with types and docstring, out of a partial or an object that is called.

    With it come the names that partials have bound: whoever bound them does not want them to be asked for.
    """
    bound: set[str] = set()
    while True:
        if isinstance(function, functools.partial):
            bound |= set(function.keywords)
            function = function.func
        elif inspect.isroutine(function) or inspect.isclass(function):
            return function, frozenset(bound)
        elif callable(function):
            # Of its class: that is where Python looks for it.
            function = type(function).__call__
        else:
            raise TypeError(
                f"A tool is made of a function, and {function!r} is none: it cannot be called, and its types cannot be read."
            )


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise TypeError(
            f"The types of the tool {name} cannot be read: {str(error).rstrip('.')}. With `from __future__ import annotations`, all types "
            "of a tool have to be names of its module, imported for running and not only for type checking."
        ) from error


def _without(kind: Any, control: tuple[type, ...]) -> Any:
    """Take what is the framework's own business out of a union."""
    left = [one for one in get_args(kind) if not (isinstance(one, type) and issubclass(one, control))]
    if not control or len(left) == len(get_args(kind)) or not left:
        return kind
    found = left[0]
    for one in left[1:]:
        found |= one
    return found
