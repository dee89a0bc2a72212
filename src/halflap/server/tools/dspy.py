"""The dspy family: execute, list, describe and reload saved DSPy programs."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from halflap.core.errors import (
    HalflapError,
    InvalidArgumentsError,
    ProgramError,
    ProgramInputsError,
    ProgramNotFoundError,
    ToolNotFoundError,
)
from halflap.server.confirm import Question
from halflap.server.tools.tool import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from halflap.core.codes import Code, OtherCode
    from halflap.core.errors import SeedCode
    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

    Handler = Callable[[Mapping[str, Any], Caller], Awaitable[dict[str, Any] | Question]]

__all__ = ["dspy_family"]

logger = logging.getLogger(__name__)

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

_SHIPPED = "Program name: worklet_selector, resource_router, anomaly_forensics, runtime_adaptation"
_OF_THE_FOLDER = "Program name, from dspy_list_programs"
_INTERNAL: OtherCode = "internal"
_WORDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer"}
_NAME = {**_TEXT, "description": "The program's name"}
_VERSION = {**_TEXT, "description": "Its version"}
_HASH = {**_TEXT, "description": "SHA-256 over the program's two files"}
_STEPS = {**_COUNT, "description": "How many predictors it has"}
_OPTIMIZER = {**_TEXT, "description": "What optimised it, or none"}
_SCORE = {"type": ["number", "null"], "description": "Measured on held-out examples; null if not measured"}
_SAVED = {**_TEXT, "format": "date-time", "description": "When it was saved"}
_LOADED = {**_TEXT, "format": "date-time", "description": "When this version was loaded"}
_FAILURE = {
    "properties": {
        "error": {"const": True, "description": "Always true"},
        "code": {
            "description": "Kind of error",
            "enum": [
                "PROGRAM_NOT_FOUND",
                "INVALID_INPUTS",
                "EXECUTION_ERROR",
                "TIMEOUT_ERROR",
                "CACHE_ERROR",
            ],
        },
        "message": {**_TEXT, "description": "What went wrong, and what to do"},
    },
    "required": ["error", "code", "message"],
}


class _WrongError(Exception):
    """One of our tools was called without what it needs."""


def dspy_family(gateway: Gateway) -> list[FrontTool]:
    """Return the tools of the family, bound to a gateway."""

    async def execute(arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any] | Question:
        name, inputs = _program(arguments), _inputs(arguments)
        stored = (await (await gateway.dspy()).find(name)).stored
        # Before anybody is asked anything.
        from halflap.dspy.field_values import check_inputs  # noqa: PLC0415 -- loaded by then

        check_inputs(stored.manifest, inputs)
        given = json.dumps(inputs, ensure_ascii=False)
        about = f"await dspy__{name}(**{given})\n# {name} {stored.manifest.version}, {stored.source_hash}"
        word = await caller.confirm(await gateway.dspy_needing_confirmation(name), about, saved=name)
        if isinstance(word, Question):
            return word
        return (await gateway.execute_dspy(name, inputs, caller.on_behalf(word))).answer(name)

    async def list_programs(_arguments: Mapping[str, Any], _caller: Caller) -> dict[str, Any]:
        programs, broken = await (await gateway.dspy()).usable()
        return {
            "programs": [one.summary() for one in programs.values()],
            "total_count": len(programs),
            "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
        }

    async def info(arguments: Mapping[str, Any], _caller: Caller) -> dict[str, Any]:
        name = _program(arguments)
        return (await (await gateway.dspy()).find(name)).info()

    async def reload(arguments: Mapping[str, Any], _caller: Caller) -> dict[str, Any]:
        name = _program(arguments)
        return (await (await gateway.dspy()).reload(name)).reloaded()

    return [
        FrontTool(
            name="dspy_execute_program",
            title="Execute a DSPy program",
            description=_EXECUTE,
            input_schema=_takes(
                _SHIPPED if gateway.config.programs.root is None else _OF_THE_FOLDER,
                inputs={
                    "type": "object",
                    "description": "Program-specific inputs matching the DSPy signature",
                },
            ),
            output_schema=_gives(
                {
                    "_metadata": {
                        "type": "object",
                        "description": "Times, and whether the cache was used",
                        "properties": {
                            "execution_time_ms": {"type": "number", "description": "In the program"},
                            "total_time_ms": {"type": "number", "description": "In all"},
                            "cache_hit": {"type": "boolean", "description": "All answers were cached"},
                            "program": _NAME,
                        },
                        "required": ["execution_time_ms", "total_time_ms", "cache_hit", "program"],
                    }
                }
            ),
            read_only=False,
            handler=_answering(execute),
            errors=(
                "dspy-program-not-found",
                "dspy-program-inputs",
                "dspy-program-broken",
                "dspy-program-failed",
                "dspy-program-timeout",
                "dspy-program-cache",
                "scripts-too-deep",
                "tool-blocked",
                "tool-held",
                "tool-refused",
            ),
            checks=False,
        ),
        FrontTool(
            name="dspy_list_programs",
            title="List DSPy programs",
            description=_LIST,
            input_schema={"type": "object", "properties": {}},
            output_schema=_gives(
                {
                    "programs": _list_of(
                        "Those that can be executed",
                        name=_NAME,
                        version=_VERSION,
                        predictor_count=_STEPS,
                        optimizer=_OPTIMIZER,
                        validation_score=_SCORE,
                        serialized_at=_SAVED,
                    ),
                    "total_count": {**_COUNT, "description": "How many can be executed"},
                    "broken": _list_of(
                        "Folders that cannot be used as they are",
                        name=_NAME,
                        reason={**_TEXT, "description": "What is wrong"},
                    ),
                }
            ),
            read_only=True,
            handler=_answering(list_programs),
            checks=False,
        ),
        FrontTool(
            name="dspy_get_program_info",
            title="Get DSPy program info",
            description=_INFO,
            input_schema=_takes("Program name to get info for"),
            output_schema=_gives(
                {
                    "name": _NAME,
                    "version": _VERSION,
                    "dspy_version": {**_TEXT, "description": "The DSPy that it was saved with"},
                    "source_hash": _HASH,
                    "optimizer": _OPTIMIZER,
                    "validation_score": _SCORE,
                    "serialized_at": _SAVED,
                    "loaded_at": _LOADED,
                    "predictors": _list_of(
                        "Its steps, in their order",
                        name={**_TEXT, "description": "Name of the predictor"},
                        input_fields={"type": "array", "items": _TEXT, "description": "Names"},
                        output_fields={"type": "array", "items": _TEXT, "description": "Names"},
                        few_shot_example_count={**_COUNT, "description": "Examples in its prompt"},
                    ),
                }
            ),
            read_only=True,
            handler=_answering(info),
            errors=("dspy-program-not-found", "dspy-program-inputs", "dspy-program-broken"),
            checks=False,
        ),
        FrontTool(
            name="dspy_reload_program",
            title="Reload a DSPy program",
            description=_RELOAD,
            input_schema=_takes("Program name to reload"),
            output_schema=_gives(
                {
                    "status": {"type": "string", "enum": ["reloaded"], "description": "Always reloaded"},
                    "name": _NAME,
                    "source_hash": _HASH,
                    "predictor_count": _STEPS,
                    "loaded_at": _LOADED,
                }
            ),
            read_only=False,
            handler=_answering(reload),
            errors=("dspy-program-not-found", "dspy-program-inputs", "dspy-program-broken"),
            destroys=False,
            checks=False,
        ),
    ]


def _takes(program: str, **more: Mapping[str, Any]) -> dict[str, Any]:
    properties = {"program": {"type": "string", "description": program}, **more}
    return {"type": "object", "required": list(properties), "properties": properties}


def _list_of(described: str, **fields: Mapping[str, Any]) -> dict[str, Any]:
    items = {"type": "object", "properties": fields, "required": list(fields)}
    return {"type": "array", "items": items, "description": described}


def _gives(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer: these fields, or an error object."""
    return {"type": "object", "properties": fields, "anyOf": [{"required": list(fields)}, _FAILURE]}


def _answering(handler: Handler) -> Callable[[Mapping[str, Any], Caller], Awaitable[Answer | Question]]:
    """Turn every failure into an error object."""

    async def answer(arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        try:
            given = await handler(arguments, caller)
        except _WrongError as error:
            return _failed("INVALID_INPUTS", str(error), ProgramInputsError.code)
        except HalflapError as error:
            return _failed(_seed_code(error), str(error), error.code)
        except Exception as error:
            logger.exception("a tool of the dspy family failed")
            text = f"Halflap failed to answer ({type(error).__name__}). See its log."
            return _failed("EXECUTION_ERROR", text, _INTERNAL)
        return given if isinstance(given, Question) else Answer(_text(given), given)

    return answer


def _seed_code(error: HalflapError) -> SeedCode:
    if isinstance(error, ProgramError):
        return error.seed_code
    if isinstance(error, InvalidArgumentsError):
        return "INVALID_INPUTS"
    # It was there a moment ago.
    return ProgramNotFoundError.seed_code if isinstance(error, ToolNotFoundError) else "EXECUTION_ERROR"


def _failed(seed_code: SeedCode, message: str, code: Code | str) -> Answer:
    told = {"error": True, "code": seed_code, "message": message}
    return Answer(_text(told), told, is_error=True, code=code)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _program(arguments: Mapping[str, Any]) -> str:
    name = arguments.get("program")
    if name is None or name == "":
        raise _WrongError("Parameter 'program' is required and must not be empty")
    if not isinstance(name, str):
        raise _WrongError(f"Parameter 'program' must be a string, the name of a program, not {_word(name)}")
    return name


def _inputs(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    inputs = arguments.get("inputs")
    if inputs is None or inputs == {}:
        raise _WrongError("Parameter 'inputs' is required and must not be empty")
    if not isinstance(inputs, dict):
        raise _WrongError(
            f"Parameter 'inputs' must be an object with the program's input fields, not {_word(inputs)}"
        )
    return inputs


def _word(value: Any) -> str:
    return _WORDS.get(type(value), "an object")
