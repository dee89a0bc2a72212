"""The dspy family: execute, list, describe and reload saved DSPy programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from halflap.core.errors import ProgramInputsError, SeedCode
from halflap.server.confirm import confirm
from halflap.server.tools.tool import FrontTool, array, field, record, with_error_objects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client
    from halflap.server.tools.tool import Handler

__all__ = ["dspy_family"]

_EXECUTE = """\
Executes a saved DSPy program: an often optimised prompt with typed inputs and outputs for a language model. Returns its \
output fields and _metadata. dspy_get_program_info lists the input fields."""
_LIST = (
    "Lists saved DSPy programs with version, optimizer and validation score, and broken ones with the reason."
)
_INFO = "Describes a saved DSPy program: its predictors with their input and output fields, and its origin."
_RELOAD = """\
Reloads a saved DSPy program from disk. It replaces the old one only if it is valid; running executions finish with \
the old one."""

_FINDING: Sequence[str] = ("dspy-program-not-found", "dspy-program-inputs", "dspy-program-broken")
_RUNNING: Sequence[str] = (
    "dspy-program-failed",
    "dspy-program-timeout",
    "dspy-program-cache",
    "scripts-too-deep",
    "tool-blocked",
    "tool-held",
    "tool-refused",
)
_INPUTS = "Program-specific inputs matching the DSPy signature"
_BUNDLED = "Program name: worklet_selector, resource_router, anomaly_forensics, runtime_adaptation"


def _list_of(description: str, **fields: Mapping[str, Any]) -> dict[str, Any]:
    return array(description, record(" ".join(fields), **fields))


_NAME = field("string", "The program's name")
_VERSION = field("string", "Its version")
_HASH = field("string", "SHA-256 over the program's two files")
_STEPS = field("integer", "How many predictors it has")
_LOADED = field("string", "When this version was loaded", format="date-time")
_NAMES = field("array", "Names", items={"type": "string"})
_ORIGIN: dict[str, dict[str, Any]] = {
    "optimizer": field("string", "What optimised it, or none"),
    "validation_score": field(["number", "null"], "Measured on held-out examples; null if not measured"),
    "serialized_at": field("string", "When it was saved", format="date-time"),
}
_TIMES = {
    "execution_time_ms": field("number", "In the program"),
    "total_time_ms": field("number", "In all"),
    "cache_hit": field("boolean", "All answers were cached"),
    "program": _NAME,
}
_METADATA = {**record(" ".join(_TIMES), **_TIMES), "description": "Times, and whether the cache was used"}
_FAILURE = {
    "properties": {
        "error": {"const": True, "description": "Always true"},
        "code": {"description": "Kind of error", "enum": list(get_args(SeedCode))},
        "message": field("string", "What went wrong, and what to do"),
    },
    "required": ["error", "code", "message"],
}


def dspy_family(gateway: Gateway) -> list[FrontTool]:
    """Return the tools of the family, bound to a gateway."""

    async def execute(arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        name, inputs = _argument(arguments, "program", str), _argument(arguments, "inputs", dict)
        program = await (await gateway.prepare()).dspy.find(name)
        # Before the person is asked anything.
        program.check(inputs)
        version = f"{name} {program.saved.spec.version}, {program.saved.source_hash}"
        about = f"await dspy__{name}(**{json.dumps(inputs, ensure_ascii=False)})\n# {version}"
        word = await confirm(
            client, await gateway.parts.executor.dspy_needing_confirmation(name), about, saved=name
        )
        return await gateway.execute_dspy(name, inputs, client.on_behalf(word))

    async def list_programs(_arguments: Mapping[str, Any], _client: Client) -> dict[str, Any]:
        programs, broken = await (await gateway.prepare()).dspy.usable()
        return {
            "programs": [program.summary() for program in programs.values()],
            "total_count": len(programs),
            "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
        }

    async def info(arguments: Mapping[str, Any], _client: Client) -> dict[str, Any]:
        name = _argument(arguments, "program", str)
        return (await (await gateway.prepare()).dspy.find(name)).info()

    async def reload(arguments: Mapping[str, Any], _client: Client) -> dict[str, Any]:
        name = _argument(arguments, "program", str)
        return (await (await gateway.prepare()).dspy.reload(name)).reloaded()

    def tool(
        name: str,
        title: str,
        description: str,
        handler: Handler,
        *,
        takes: Mapping[str, Any],
        returns: Mapping[str, Any],
        **more: Any,
    ) -> FrontTool:
        return FrontTool(
            name=f"dspy_{name}",
            title=title,
            description=description,
            input_schema=record(" ".join(takes), **takes),
            output_schema={**record(**returns), "anyOf": [{"required": list(returns)}, _FAILURE]},
            handler=with_error_objects(handler),
            checks=False,
            **more,
        )

    known = _BUNDLED if gateway.config.programs.root is None else "Program name, from dspy_list_programs"
    return [
        tool(
            "execute_program",
            "Execute a DSPy program",
            _EXECUTE,
            execute,
            takes={"program": field("string", known), "inputs": field("object", _INPUTS)},
            returns={"_metadata": _METADATA},
            read_only=False,
            errors=(*_FINDING, *_RUNNING),
        ),
        tool(
            "list_programs",
            "List DSPy programs",
            _LIST,
            list_programs,
            takes={},
            returns={
                "programs": _list_of(
                    "Those that can be executed",
                    name=_NAME,
                    version=_VERSION,
                    predictor_count=_STEPS,
                    **_ORIGIN,
                ),
                "total_count": field("integer", "How many can be executed"),
                "broken": _list_of(
                    "Folders that cannot be used as they are",
                    name=_NAME,
                    reason=field("string", "What is wrong"),
                ),
            },
            read_only=True,
        ),
        tool(
            "get_program_info",
            "Get DSPy program info",
            _INFO,
            info,
            takes={"program": field("string", "Program name to get info for")},
            returns={
                "name": _NAME,
                "version": _VERSION,
                "dspy_version": field("string", "The DSPy that it was saved with"),
                "source_hash": _HASH,
                **_ORIGIN,
                "loaded_at": _LOADED,
                "predictors": _list_of(
                    "Its steps, in their order",
                    name=field("string", "Name of the predictor"),
                    input_fields=_NAMES,
                    output_fields=_NAMES,
                    few_shot_example_count=field("integer", "Examples in its prompt"),
                ),
            },
            read_only=True,
            errors=_FINDING,
        ),
        tool(
            "reload_program",
            "Reload a DSPy program",
            _RELOAD,
            reload,
            takes={"program": field("string", "Program name to reload")},
            returns={
                "status": field("string", "Always reloaded", enum=["reloaded"]),
                "name": _NAME,
                "source_hash": _HASH,
                "predictor_count": _STEPS,
                "loaded_at": _LOADED,
            },
            read_only=False,
            errors=_FINDING,
            destroys=False,
        ),
    ]


def _argument(arguments: Mapping[str, Any], name: str, kind: type) -> Any:
    value = arguments.get(name)
    if value is None or value in ("", {}):
        raise ProgramInputsError("", message=f"Parameter '{name}' is required and must not be empty")
    if not isinstance(value, kind):
        expected = "a string" if kind is str else "an object"
        raise ProgramInputsError("", message=f"Parameter '{name}' must be {expected}")
    return value
