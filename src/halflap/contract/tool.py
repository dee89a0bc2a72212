"""A typed function as a tool under a contract: timed, put into the envelope, checked before its answer is sent."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, Protocol, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_json

from halflap.contract.envelope import ErrorCode, ErrorDetail, ResponseMetadata, ToolResponse, envelope_schema
from halflap.contract.errors import ErrorTable, Translation
from halflap.contract.invariants import Breach, Invariant, first_breach, path_text, require_reachable
from halflap.contract.json_schema import data_type, raw_output_schema
from halflap.contract.relations import Linker

F = TypeVar("F", bound="Callable[..., Any]")

_log = logging.getLogger("halflap.contract")
_MAX_REASON = 500
_BROKEN = (
    "The tool's answer breaks its own contract at {}. This is a fault of the server; its log has the details."
)


class Decorator(Protocol):
    """Registers functions as tools and returns them unchanged.

    It takes `name`, `description`, `invariants` and `source`; further settings go to the server's own decorator.
    """

    def __call__(self, name: str | None = None, **settings: Any) -> Callable[[F], F]: ...


class Answer(NamedTuple):
    """The envelope, and the same as JSON text."""

    structured: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Contract:
    """Settings shared by the tools of one server."""

    source: str
    """Where the data comes from, for `metadata.source`."""
    codes: type[StrEnum] | None = None
    """Your own error codes, in addition to ErrorCode."""
    errors: Mapping[type[Exception], Translation] = field(default_factory=dict)
    """What exceptions become, in addition to TimeoutError (TIMEOUT) and PermissionError (PERMISSION_DENIED)."""
    error_table: ErrorTable = field(init=False, repr=False, compare=False)
    linker: Linker = field(init=False, repr=False, compare=False, default_factory=Linker)

    def __post_init__(self) -> None:
        if not self.source:
            raise ValueError("A contract names the source of its data: Contract(source='crm').")
        object.__setattr__(self, "error_table", ErrorTable(self.codes, self.errors))


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
        passes_exceptions: tuple[type[BaseException], ...] = (),
        passes_results: tuple[type, ...] = (),
    ) -> None:
        """Read the function's types. What is passed through belongs to the framework, not to the envelope."""
        self.name = name or function.__name__
        self.function = function
        self.description = inspect.cleandoc(description or function.__doc__ or "")
        self._is_async = inspect.iscoroutinefunction(function)
        self.hints = get_type_hints(function, include_extras=True)
        self._contract = contract
        self._source = source or contract.source
        self._passes_exceptions = passes_exceptions
        self._passes_results = passes_results
        if "return" not in self.hints:
            raise TypeError(
                f"The tool {self.name} has no return type: annotate it (`-> Customer`) so that callers know what to expect."
            )
        kind = data_type(_without(self.hints["return"], passes_results))
        data = raw_output_schema(kind)
        for rule in invariants:
            require_reachable(rule, data, self.name)
        self.output_schema = envelope_schema(data, contract.error_table.codes)
        self._invariants = tuple(invariants)
        self._adapter = TypeAdapter(kind)
        self._validators = _validators(self.output_schema, self.name)

    def publish(self, takes: dict[str, Any], returns: dict[str, Any]) -> None:
        """Describe relations and units in the schemas that the server lists, now and when tools are added later."""
        self._contract.linker.add(self.name, takes=takes, returns=returns)

    def parameters(self) -> list[inspect.Parameter]:
        """Return the function's parameters with evaluated annotations."""
        return [
            one.replace(annotation=self.hints.get(one.name, one.annotation))
            for one in inspect.signature(self.function).parameters.values()
        ]

    async def answer(self, *arguments: Any, **named: Any) -> Answer | Any:
        """Call the function, in a thread unless it is async; cancellation passes through."""
        started = time.perf_counter()
        try:
            if self._is_async:
                value = await self.function(*arguments, **named)
            else:
                value = await asyncio.to_thread(self.function, *arguments, **named)
        except self._passes_exceptions:
            raise
        except Exception as error:  # noqa: BLE001 -- every failure becomes an answer
            return self.failed(error, started)
        if self._passes_results and isinstance(value, self._passes_results):
            return value
        response = value if isinstance(value, ToolResponse) else ToolResponse.of(value)
        return self._send(response, _milliseconds(started))

    def refuse(self, error: ErrorDetail) -> Answer:
        """Answer with an error without calling the function."""
        return self._send(ToolResponse[Any].failed(error), 0)

    def failed(self, raised: BaseException, started: float) -> Answer:
        """Answer with the error that an exception maps to, and log unexpected ones."""
        try:
            error, expected = self._contract.error_table.translate(raised)
        except Exception:  # noqa: BLE001 -- every failure becomes an answer
            _log.exception("%s: the error table failed on %s", self.name, type(raised).__name__)
            error, expected = ErrorTable.general(ErrorCode.INTERNAL_ERROR), False
        if not expected:
            _log.error("%s raised %s", self.name, type(raised).__name__, exc_info=raised)
        return self._send(ToolResponse[Any].failed(error), _milliseconds(started))

    def _send(self, response: ToolResponse[Any], took: int) -> Answer:
        given = response.metadata
        metadata = replace(
            given, execution_time_ms=given.execution_time_ms or took, source=given.source or self._source
        )
        path = "data"
        try:
            sent = self._envelope(response, metadata)
            text = to_json(sent)
            if b"NaN" in text or b"Infinity" in text:
                json.dumps(sent, allow_nan=False)  # raises if that is a number
            breach = self._breach(sent)
            if breach is None:
                return Answer(sent, text.decode())
            path = breach.path
            _log.error("%s: the answer breaks its contract at %s: %s", self.name, path, breach.reason)
        except Exception:  # noqa: BLE001 -- every failure becomes an answer
            _log.exception("%s: the answer cannot be written as JSON", self.name)
        # With our own metadata, because the given metadata may be what is wrong.
        broken = ErrorDetail(ErrorCode.INTERNAL_ERROR, _BROKEN.format(path), {"path": path})
        sent = ToolResponse[Any].failed(broken, ResponseMetadata(took, self._source)).to_json()
        return Answer(sent, json.dumps(sent))

    def _envelope(self, response: ToolResponse[Any], metadata: ResponseMetadata) -> dict[str, Any]:
        if not response.success:
            return replace(response, metadata=metadata).to_json()
        data = self._adapter.dump_python(response.data, mode="json", by_alias=True, warnings="none")
        return {"success": True, "data": data, "metadata": metadata.to_json()}

    def _breach(self, sent: dict[str, Any]) -> Breach | None:
        validator = self._validators[0 if sent["success"] else 1]
        if not validator.is_valid(sent):
            error = next(iter(validator.iter_errors(sent)))
            return Breach(path_text(_innermost(error)), error.message[:_MAX_REASON])
        return first_breach(sent["data"], self._invariants) if sent["success"] else None


def _validators(schema: dict[str, Any], tool: str) -> list[Any]:
    """Compile success and error separately, because errors inside a `oneOf` have no precise path."""
    from jsonschema_rs import Draft202012Validator  # noqa: PLC0415 -- for servers only, not for readers of types

    try:
        return [
            Draft202012Validator(
                {**branch, "$defs": schema.get("$defs", {})}, validate_formats=True, offline=True
            )
            for branch in schema["oneOf"]
        ]
    except ValueError as error:
        raise TypeError(f"The return type of the tool {tool} has an invalid schema: {error}") from error


def _innermost(error: Any) -> list[str | int]:
    """Return the path of the mistake. Inside a union such as `X | None`, follow the only alternative that got further."""
    path: list[str | int] = list(error.instance_path)
    branches = [[_innermost(one) for one in branch] for branch in getattr(error.kind, "context", None) or ()]
    deeper = [paths[0] for paths in branches if paths and len(paths[0]) > len(path)]
    return deeper[0] if len(deeper) == 1 else path


def _milliseconds(started: float) -> int:
    return int((time.perf_counter() - started) * 1000)


def _without(kind: Any, passed: tuple[type, ...]) -> Any:
    """Remove the framework's own results from a union."""
    given = get_args(kind)
    left = [one for one in given if not (isinstance(one, type) and issubclass(one, passed))]
    return reduce(or_, left) if passed and left and len(left) < len(given) else kind
