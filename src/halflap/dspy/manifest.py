"""Read and write `manifest.json`: every problem of it is reported at once, with its place."""

from __future__ import annotations

import json
import re

from pydantic import ValidationError

from halflap.config.problems import location
from halflap.core.errors import ProgramBrokenError
from halflap.dspy.spec import Manifest
from halflap.dspy.strict_json import UnreadableError, read_json
from halflap.dspy.wiring import complete

__all__ = ["MANIFEST", "problems_of", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
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
    manifest = complete(manifest, problems)
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
