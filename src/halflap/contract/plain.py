"""A tool for the low-level server of `mcp`, or for no framework at all: its definition, and what calls it."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from halflap.contract.envelope import ErrorCode, ErrorDetail
from halflap.contract.invariants import path_text
from halflap.contract.output import DIALECT, marked, told_of
from halflap.contract.tool import Answer, Contract, ContractTool

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Coroutine, Sequence

    from pydantic import BaseModel

    from halflap.contract.invariants import Invariant

__all__ = ["tool_of"]

_MOST_PROBLEMS = 20


def tool_of(
    function: Callable[..., Any],
    contract: Contract,
    *,
    name: str | None = None,
    description: str | None = None,
    annotations: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    invariants: Sequence[Invariant] = (),
    source: str | None = None,
    context: str | None = None,
) -> tuple[dict[str, Any], Callable[..., Coroutine[Any, Any, Answer]]]:
    """Give a function's definition as `tools/list` has it, and a coroutine function that takes arguments and answers.

    Arguments that are not what the definition says are answered with INVALID_QUERY. `context` names a parameter that
    callers do not see; what goes there is the second argument of the call. A function that is not async runs in a
    thread.
    """
    tool = ContractTool(
        function, contract, name=name, description=description, invariants=invariants, source=source
    )
    taken = [one for one in tool.parameters() if one.name != context]
    if context is not None and len(taken) == len(tool.parameters()):
        raise TypeError(f"The tool {tool.name} has no parameter {context!r}, which `context` names.")
    for one in taken:
        with told_of(one.annotation, f"The tool {tool.name} takes {one.name!r}. "):
            TypeAdapter(Any if one.annotation is one.empty else one.annotation).json_schema()
    model = _model(tool.name, taken)
    schema = marked(model.model_json_schema(by_alias=True), leave_out="produces")
    schema.pop("title", None)
    definition = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"$schema": DIALECT, **schema},
        "outputSchema": tool.output_schema,
        **({"annotations": dict(annotations)} if annotations else {}),
        **({"_meta": dict(meta)} if meta else {}),
    }

    async def call(arguments: Mapping[str, Any] | None, given: Any = None) -> Answer:
        started = time.perf_counter()
        try:
            # A call may leave its arguments out, and then the protocol gives None.
            read = model.model_validate({} if arguments is None else _as_dict(arguments))
        except ValidationError as error:
            return tool.refuse(_refusal(error))
        except Exception as error:  # noqa: BLE001 -- a validator of the author's: it fails as the function does
            return tool.failed(error, started)
        named = {one.name: getattr(read, f"a_{one.name}") for one in taken}
        if context is not None:
            named[context] = given
        if tool.is_async:
            answer: Answer = await tool.answer_async(**named)
            return answer
        return await asyncio.to_thread(functools.partial(tool.answer, **named))

    return definition, call


def _model(name: str, parameters: Sequence[inspect.Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for one in parameters:
        if one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY}:
            raise TypeError(
                f"The tool {name} takes {one}: a tool's arguments are given by name, so name each of them."
            )
        kind = Any if one.annotation is one.empty else one.annotation
        # Under a name of our own, so that a parameter may be called as one of pydantic's methods.
        fields[f"a_{one.name}"] = (kind, ... if one.default is one.empty else one.default)
    config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=True,
        alias_generator=lambda field: field.removeprefix("a_"),
        protected_namespaces=(),
    )
    made: type[BaseModel] = create_model(f"{name}_arguments", __config__=config, **fields)
    return made


def _as_dict(arguments: object) -> object:
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


def _refusal(error: ValidationError) -> ErrorDetail:
    problems = [
        {"path": path_text(one["loc"]) or "arguments", "problem": one["msg"]}
        for one in error.errors(include_url=False, include_context=False, include_input=False)[
            :_MOST_PROBLEMS
        ]
    ]
    told = "; ".join(f"{one['path']}: {one['problem']}" for one in problems)
    return ErrorDetail(
        ErrorCode.INVALID_QUERY,
        f"The arguments are not what the tool takes: {told}.",
        {"problems": problems},
    )
