"""A tool for mcp's low-level server, or for no framework: its definition and a function that answers calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, ValidationError, create_model

from halflap.contract.envelope import ErrorCode, ErrorDetail
from halflap.contract.invariants import Invariant, path_text
from halflap.contract.json_schema import DIALECT
from halflap.contract.tool import Answer, Contract, ContractTool

if TYPE_CHECKING:
    import inspect

    from pydantic import BaseModel

_MAX_PROBLEMS = 20
_PREFIX = "a_"  # so that a parameter may share its name with a method of pydantic's


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
    """Return a function's definition for `tools/list`, and a coroutine function that takes the arguments and answers.

    Arguments that do not fit the definition are answered with INVALID_QUERY. `context` names a parameter that callers
    do not see; its value is the second argument of the call. A function that is not async runs in a thread.
    """
    tool = ContractTool(
        function, contract, name=name, description=description, invariants=invariants, source=source
    )
    taken = [one for one in tool.parameters() if one.name != context]
    if context is not None and len(taken) == len(tool.parameters()):
        raise TypeError(f"The tool {tool.name} has no parameter {context!r}, which `context` names.")
    model = _arguments_model(tool.name, taken)
    schema = model.model_json_schema(by_alias=True)
    schema.pop("title", None)
    definition: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"$schema": DIALECT, **schema},
        "outputSchema": tool.output_schema,
        **({"annotations": dict(annotations)} if annotations else {}),
        **({"_meta": dict(meta)} if meta else {}),
    }
    tool.publish(definition["inputSchema"], definition["outputSchema"])

    async def call(arguments: Mapping[str, Any] | None, given: Any = None) -> Answer:
        started = time.perf_counter()
        try:
            read = model.model_validate({} if arguments is None else arguments)
        except ValidationError as error:
            return tool.refuse(_refusal(error))
        except Exception as error:  # noqa: BLE001 -- a validator of the author's that fails, as the function may
            return tool.failed(error, started)
        named = {one.name: getattr(read, _PREFIX + one.name) for one in taken}
        if context is not None:
            named[context] = given
        answer: Answer = await tool.answer(**named)
        return answer

    return definition, call


def _arguments_model(name: str, parameters: Sequence[inspect.Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for one in parameters:
        if one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY}:
            raise TypeError(
                f"The tool {name} takes {one}; tools have named parameters only, so name each one."
            )
        kind = Any if one.annotation is one.empty else one.annotation
        fields[_PREFIX + one.name] = (kind, ... if one.default is one.empty else one.default)
    config = ConfigDict(
        extra="forbid",
        alias_generator=lambda field: field.removeprefix(_PREFIX),
        protected_namespaces=(),
    )
    made: type[BaseModel] = create_model(f"{name}_arguments", __config__=config, **fields)
    return made


def _refusal(error: ValidationError) -> ErrorDetail:
    problems = [
        {"path": path_text(one["loc"]) or "arguments", "problem": one["msg"]}
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ][:_MAX_PROBLEMS]
    text = "; ".join(f"{one['path']}: {one['problem']}" for one in problems)
    return ErrorDetail(ErrorCode.INVALID_QUERY, f"Invalid arguments: {text}.", {"problems": problems})
