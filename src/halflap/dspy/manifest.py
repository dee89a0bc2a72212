"""Read and write `manifest.json`, report all of its problems at once, and complete its wiring by equal names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from halflap.config.problems import location
from halflap.core.errors import ProgramBrokenError
from halflap.dspy.spec import INPUTS, Field, Manifest, Predictor, Wiring
from halflap.dspy.strict_json import UnreadableError, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MANIFEST", "problems_of", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
_Sources = dict[str, dict[str, Field]]
_MAX_PROBLEMS = 100
_UNION_PART = re.compile(r"(?:int|float|str|bool|FieldSchema)$|\w+\[")


def read_manifest(data: bytes, *, name: str) -> Manifest:
    """Parse the manifest of the program in the folder of this name; raise all of its problems at once."""
    try:
        manifest = Manifest.model_validate(read_json(data))
    except UnreadableError as error:
        raise ProgramBrokenError(name, [f"{MANIFEST}: {error}"]) from None
    except ValidationError as error:
        raise ProgramBrokenError(name, problems_of(error, MANIFEST)) from None
    problems: list[str] = []
    if manifest.name != name:
        problems.append(f"name: must be {name}, like its folder")
    manifest = _complete(manifest, problems)
    if problems:
        raise ProgramBrokenError(name, [f"{MANIFEST}: {one}." for one in problems[:_MAX_PROBLEMS]])
    if "description" not in manifest.model_fields_set:
        manifest = manifest.model_copy(update={"description": manifest.predictors[0].instructions})
    return manifest


def problems_of(error: ValidationError, file: str) -> list[str]:
    """Return pydantic's errors with their place in a file: `manifest.json: predictors[0].kind: …`."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)[:_MAX_PROBLEMS]
    found = []
    for one in errors:
        path = one["loc"]
        if one["type"] == "too_short" and any(
            other["loc"][: len(path)] == path != other["loc"] for other in errors
        ):
            # Its items are wrong, so pydantic counts none.
            continue
        # Alternatives of a union are in the path, too.
        place = location([part for part in path if isinstance(part, int) or not _UNION_PART.match(part)])
        message = one["msg"].removeprefix("Value error, ").rstrip(".")
        found.append(f"{file}: {place}{': ' if place else ''}{message}.")
    return list(dict.fromkeys(found))


def write_manifest(manifest: Manifest) -> bytes:
    """Serialise a manifest with everything in it, including what could be left out."""
    value = manifest.model_dump(mode="json", by_alias=True)
    for one in value["predictors"]:
        if one["kind"] != "ReAct":
            del one["tools"], one["max_iterations"]
        wired = value["wiring"]["predictors"].get(one["name"], {})
        value["wiring"]["predictors"][one["name"]] = {
            field["name"]: wired.get(field["name"]) for field in one["inputs"]
        }
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


# Wiring -----------------------------------------------------------------------------------------------


def _complete(manifest: Manifest, problems: list[str]) -> Manifest:
    """Return the manifest with inputs, outputs and the source of every field, or add to the problems.

    A field is filled by the program's input of the same name, else by the latest earlier predictor that returns one. Inputs
    that are not listed are those that no predictor supplies; outputs that are not listed are those that are wired, else
    those of the last predictor.
    """
    known = {one.name for one in manifest.predictors}
    problems += [
        f"wiring.predictors.{name}: there is no such predictor"
        for name in manifest.wiring.predictors
        if name not in known
    ]
    inputs = manifest.inputs or _needed(manifest, problems)
    sources: _Sources = {INPUTS: {field.name: field for field in inputs}}
    wired: dict[str, dict[str, str | None]] = {}
    for predictor in manifest.predictors:
        told = manifest.wiring.predictors.get(predictor.name, {})
        wired[predictor.name] = _wire(predictor, told, sources, problems)
        sources[predictor.name] = predictor.offered
    used = {source for fields in wired.values() for source in fields.values()}
    problems += [
        f"inputs[{at}]: no predictor takes {field.name}"
        for at, field in enumerate(inputs)
        if f"{INPUTS}.{field.name}" not in used
    ]
    del sources[INPUTS]
    outputs = manifest.outputs or _returned(manifest, sources)
    wiring = Wiring.model_construct(
        predictors=wired, outputs=_wire_outputs(outputs, manifest.wiring.outputs, sources, problems)
    )
    return manifest.model_copy(update={"inputs": inputs, "outputs": outputs, "wiring": wiring})


def _needed(manifest: Manifest, problems: list[str]) -> tuple[Field, ...]:
    """Return the inputs that no earlier predictor supplies."""
    needed: dict[str, Field] = {}
    earlier: set[str] = set()
    for predictor in manifest.predictors:
        told = manifest.wiring.predictors.get(predictor.name, {})
        for field in predictor.inputs:
            source = told.get(field.name, f"{INPUTS}.{field.name}" if field.name not in earlier else None)
            owner, _, name = (source or "").partition(".")
            if owner != INPUTS:
                continue
            first = needed.setdefault(name, field.model_copy(update={"name": name}))
            if first.json_schema != field.json_schema:
                problems.append(
                    f"inputs: {name} is taken with two different schemas; list the program's inputs, or wire one of them"
                )
        earlier |= predictor.offered.keys() - needed.keys()
    return tuple(needed.values())


def _wire(
    predictor: Predictor, told: Mapping[str, str | None], sources: _Sources, problems: list[str]
) -> dict[str, str | None]:
    path = f"wiring.predictors.{predictor.name}"
    names = {field.name for field in predictor.inputs}
    problems += [f"{path}.{name}: there is no such input" for name in told if name not in names]
    wired: dict[str, str | None] = {}
    for field in predictor.inputs:
        source = told[field.name] if field.name in told else _by_name(field.name, sources)
        if source is not None:
            problem = _mismatch(source, sources, field)
        elif "default" in field.json_schema:
            continue
        elif field.name in told:
            problem = "null means its default, and it has none"
        else:
            problem = "no input of the program and no earlier predictor has this name"
        if problem:
            problems.append(f"{path}.{field.name}: {problem}")
        wired[field.name] = source
    return wired


def _returned(manifest: Manifest, sources: _Sources) -> tuple[Field, ...]:
    """Return the outputs of a manifest that lists none."""
    if not manifest.wiring.outputs:
        return manifest.predictors[-1].outputs
    fields = []
    for name, source in manifest.wiring.outputs.items():
        owner, _, taken = source.partition(".")
        found = sources.get(owner, {}).get(taken)
        fields.append(Field(name=name) if found is None else found.model_copy(update={"name": name}))
    return tuple(fields)


def _wire_outputs(
    outputs: tuple[Field, ...], told: Mapping[str, str], sources: _Sources, problems: list[str]
) -> dict[str, str]:
    names = {field.name for field in outputs}
    problems += [f"wiring.outputs.{name}: there is no such output" for name in told if name not in names]
    wired = {}
    for field in outputs:
        source = told.get(field.name) or _by_name(field.name, sources)
        problem = (
            "no predictor returns a field of this name"
            if source is None
            else _mismatch(source, sources, field)
        )
        if field.name == "error":
            problem = 'an output cannot be called "error": clients recognise errors by it'
        if problem:
            problems.append(f"wiring.outputs.{field.name}: {problem}")
        wired[field.name] = source or ""
    return wired


def _by_name(name: str, sources: _Sources) -> str | None:
    if name in sources.get(INPUTS, {}):
        return f"{INPUTS}.{name}"
    owners = [owner for owner, fields in sources.items() if name in fields]
    return f"{owners[-1]}.{name}" if owners else None


def _mismatch(source: str, sources: _Sources, target: Field) -> str:
    """Return why a source cannot fill a field, or nothing."""
    owner, _, name = source.partition(".")
    found = sources.get(owner, {}).get(name)
    if owner not in sources:
        return f"{owner} is not a source here; there are {', '.join(sources)}"
    if found is None:
        return f"{owner} has no field {name}; it has {', '.join(sources[owner]) or 'none'}"
    given, taken = _types(found.json_schema), _types(target.json_schema)
    # DSPy can write any value as text.
    if not given or not taken or "string" in taken or given & taken:
        return ""
    return f"{source} is {' or '.join(sorted(given))}, not {' or '.join(sorted(taken))}"


def _types(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    found = set(kinds if isinstance(kinds, list) else [kinds])
    return found | {"integer", "number"} if found & {"integer", "number"} else found
