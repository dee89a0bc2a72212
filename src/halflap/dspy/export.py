"""Writes a live or compiled DSPy module as a folder of the library, or says exactly what of it cannot be said there."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import random
import sys
import threading
import traceback
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halflap.core.errors import ProgramBrokenError, UsageError
from halflap.dspy.inputs import check_inputs
from halflap.dspy.manifest import Manifest, read_manifest, write_manifest
from halflap.dspy.runtime import import_dspy
from halflap.dspy.samples import sample, with_less
from halflap.dspy.state import read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.core.values import Tool
    from halflap.dspy.discovery import Found
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.state import State

__all__ = ["describe", "export", "load_object", "stdout_is_data"]

_COMPARED: Final = range(100, 104)
"""Other values than those that the wiring was found with."""


def load_object(name: str, folder: Path | None = None) -> Any:
    """Import `module:object`, from the current folder as `python -m` would. This runs the module: it is the user's own."""
    module_name, separator, path = name.partition(":")
    if not separator or not module_name or not path:
        raise UsageError(f"{name!r} names no object. Write `module:object`, as in `my_programs:answerer`.")
    place = str(folder or Path.cwd())
    if place not in sys.path:
        sys.path.insert(0, place)
    with stdout_is_data():
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
                raise UsageError(
                    f"There is no module {module_name!r}, neither in {place} nor installed."
                ) from None
            how = " Install the extra: pip install 'halflap[dspy]'." if error.name == "dspy" else ""
            raise UsageError(
                f"{module_name} cannot be imported: it needs {error.name}, which is not there.{how}"
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            raise UsageError(
                f"{module_name} cannot be imported: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})."
            ) from error
        for part in path.split("."):
            found = _part(found, part, module_name)
    return found


def _part(of: Any, name: str, module_name: str) -> Any:
    try:
        return getattr(of, name)
    except AttributeError:
        there = ", ".join(sorted(one for one in dir(of) if not one.startswith("_"))[:20]) or "nothing"
        raise UsageError(f"{module_name} has no {name!r}. It has: {there}.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UsageError(
            f"{name!r} of {module_name} cannot be had: {type(error).__name__}: {error}"
        ) from error


def describe(
    module: Any,
    name: str,
    *,
    tool: Callable[[str], Tool | None],
    version: str = "1.0.0",
    description: str = "",
    optimizer: str = "none",
    validation_score: float | None = None,
) -> tuple[Manifest, State]:
    """Say a module as manifest and state; raises everything of it that they cannot say. Not on the loop."""
    import_dspy(name)
    with stdout_is_data():
        found, told = _found(module, name, tool)
        manifest = Manifest(
            name=name,
            version=version,
            # Whoever looks for a tool reads it.
            description=description or told or found.order[0].predictor.instructions,
            dspy_version=version_of("dspy"),
            optimizer=optimizer,
            validation_score=validation_score,
            serialized_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            inputs=found.inputs,
            outputs=found.outputs,
            predictors=tuple(unit.predictor for unit in found.order),
            wiring=found.wiring,
        )
        try:
            manifest = read_manifest(write_manifest(manifest), name=name)
            state = read_state(_state_of(name, found), manifest)
            state = read_state(write_state(state, manifest), manifest)
        except ProgramBrokenError as error:
            raise _refusal(name, error.problems) from None
        _compare(module, manifest, state, tool)
    return manifest, state


def export(
    module: Any, name: str, library: Library, *, tool: Callable[[str], Tool | None], **said: Any
) -> Stored:
    """Write a module into the library. What is there already is never overwritten. Not on the loop."""
    manifest, state = describe(module, name, tool=tool, **said)
    saved = library.save(manifest, state)
    with stdout_is_data():
        _compare(module, saved.manifest, saved.state, tool)
    return saved


def _found(module: Any, name: str, tool: Callable[[str], Tool | None]) -> tuple[Found, str]:
    """Give how a module is made, and what it says of itself."""
    import dspy  # noqa: PLC0415  # takes seconds

    from halflap.dspy.discovery import discover  # noqa: PLC0415  # imports DSPy
    from halflap.dspy.parameters import parameters_of  # noqa: PLC0415  # as above
    from halflap.dspy.units import find_units  # noqa: PLC0415  # as above

    if isinstance(module, type) and issubclass(module, dspy.Module):
        raise UsageError(
            f"{module.__name__} is a class. Name an object of it: `program = {module.__name__}()`."
        )
    if not isinstance(module, dspy.Module):
        raise UsageError(f"It is a {type(module).__name__}, and should be a dspy.Module.")
    problems: list[str] = []
    units = find_units(module, name, tool, problems)
    if not units and not problems:
        problems.append("it has no step: no Predict, ChainOfThought or ReAct as an attribute.")
    parameters = parameters_of(module, units, problems) if units else []
    found = None if problems else discover(module, units, parameters, problems)
    if found is None:
        raise _refusal(name, problems)
    # Of a step by itself, it would be what DSPy says of all such steps.
    said = "" if id(module) in units else inspect.cleandoc(vars(type(module)).get("__doc__") or "")
    return found, said.partition("\n\n")[0]


def _state_of(name: str, found: Found) -> bytes:
    from halflap.dspy.building import state_of  # noqa: PLC0415  # imports DSPy

    try:
        saved = state_of((unit.predictor, unit.module) for unit in found.order)
        return json.dumps(saved, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise _refusal(name, [f"a demo holds a value that JSON cannot say: {error}."]) from None


def _compare(module: Any, manifest: Manifest, state: State, tool: Callable[[str], Tool | None]) -> None:
    """Run both on the same values: every prompt has to be the same, letter by letter."""
    from halflap.dspy.building import build_steps  # noqa: PLC0415  # imports DSPy
    from halflap.dspy.parameters import parameters_of  # noqa: PLC0415  # as above
    from halflap.dspy.tracing import trace, typed_inputs  # noqa: PLC0415  # as above
    from halflap.dspy.units import find_units  # noqa: PLC0415  # as above

    def known(name: str) -> Tool:
        found = tool(name)
        assert found is not None, "it was looked up before"
        return found

    parameters = parameters_of(module, find_units(module, manifest.name, tool, []), [])
    rebuilt = build_steps(manifest.predictors, manifest.wiring, state, known)
    for seed in _COMPARED:
        dice = random.Random(seed)  # noqa: S311  # no secret
        inputs = {field.name: sample(field.schema, dice) for field in manifest.inputs}
        # What has no type gets values as they are, and nobody fills in what they lack.
        typed = {one.name for one in parameters if one.is_typed}
        fields = {
            field.name: field.schema
            if field.name in typed
            else {"default": None}
            if "default" in field.schema
            else {}
            for field in manifest.inputs
        }
        inputs = with_less(inputs, {"properties": fields}, dice)
        try:
            theirs = trace(module, typed_inputs(parameters, inputs), {}, seed).prompts
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            told = f"running it on made-up values failed: {type(error).__name__}: {error}"
            raise _refusal(manifest.name, [told]) from error
        ours = trace(rebuilt, check_inputs(manifest, inputs), {}, seed).prompts
        if theirs != ours:
            told = f"what is written would ask the model something else. {_difference(theirs, ours)}"
            raise _refusal(manifest.name, [told])


def _difference(theirs: list[Any], ours: list[Any]) -> str:
    if len(theirs) != len(ours):
        return f"It asks {len(ours)} times instead of {len(theirs)}."
    texts = [
        (str(one["content"]), str(other["content"]))
        for prompt, mine in zip(theirs, ours, strict=True)
        for one, other in zip(prompt, mine, strict=False)
        if one != other
    ]
    if not texts:
        return "It has other demos."
    one, other = texts[0]
    at = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    begin = max(0, at - 40)
    return f"The module: …{one[begin : at + 60]!r}. What was written: …{other[begin : at + 60]!r}."


def _refusal(name: str, problems: list[str] | tuple[str, ...]) -> UsageError:
    each = list(dict.fromkeys(problems))
    told = each[0] if len(each) == 1 else "".join(f"\n- {one}" for one in each)
    return UsageError(f"It cannot be written as the DSPy program {name!r}: {told}")


_PRINTING = threading.Lock()
_inside = 0
_before: Any = None


@contextlib.contextmanager
def stdout_is_data() -> Iterator[None]:
    """Send what the user's code prints to stderr, until the last of all threads is out of it again."""
    global _inside, _before  # noqa: PLW0603  # there is one stdout
    with _PRINTING:
        if not _inside:
            _before, sys.stdout = sys.stdout, sys.stderr
        _inside += 1
    try:
        yield
    finally:
        with _PRINTING:
            _inside -= 1
            if not _inside:
                sys.stdout = _before
