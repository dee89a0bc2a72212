"""What DSPy saved of a program's predictors: demos and instructions. Everything else in the file is ignored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

from halflap.core.errors import ProgramBrokenError
from halflap.core.text import visible
from halflap.dspy.manifest import problems_of, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.dspy.manifest import Manifest

__all__ = ["STATE", "PredictorState", "State", "read_state", "write_state"]

STATE = "state.json"
_UNUSED = frozenset({"traces", "train", "metadata"})
"""What DSPy always writes, and a program does not need."""
_MAX_IGNORED = 50


class Signature(BaseModel):
    model_config = ConfigDict(frozen=True)

    instructions: StrictStr | None = None
    """Instead of those in the manifest."""


class PredictorState(BaseModel):
    """DSPy would set unknown keys as attributes: `config` could send the key elsewhere, so they are never passed on."""

    model_config = ConfigDict(frozen=True)

    demos: tuple[dict[str, Any], ...] = Field(default=(), max_length=100)
    signature: Signature = Signature()
    """A signature as text, with which DSPy would import the modules that it names, is refused as "not an object"."""


@dataclass(frozen=True, slots=True)
class State:
    predictors: Mapping[str, PredictorState]
    """By DSPy's keys: `select`, `select.predict`, `plan.react`, `plan.extract.predict`."""
    ignored: tuple[str, ...] = ()
    """What else the file contains, by path: `select.config`, `select.lm`."""

    def as_json(self) -> dict[str, Any]:
        return {key: state.model_dump(mode="json") for key, state in self.predictors.items()}


def read_state(data: bytes, manifest: Manifest) -> State:
    """Parse the state of a program; raise all of its problems at once."""
    try:
        value = read_json(data)
    except ValueError as error:
        raise ProgramBrokenError(manifest.name, [f"{STATE}: not valid JSON: {error}."]) from None
    if not isinstance(value, dict):
        raise ProgramBrokenError(manifest.name, [f"{STATE}: must be an object."])
    signatures = {key: names for one in manifest.predictors for key, names in one.signatures.items()}
    problems: list[str] = []
    states: dict[str, PredictorState] = {}
    ignored = [key for key in value if key not in signatures and key not in _UNUSED]
    for key, names in signatures.items():
        if key not in value:
            problems.append(f"{STATE}: {key} is missing; the manifest has this predictor.")
            continue
        try:
            state = PredictorState.model_validate(value[key])
        except ValidationError as error:
            problems += problems_of(error, f"{STATE}: {key}")
            continue
        # `lm` is null unless one was set.
        extra = {name for name, part in value[key].items() if name != "lm" or part is not None}
        ignored += [f"{key}.{name}" for name in sorted(extra - PredictorState.model_fields.keys() - _UNUSED)]
        kept = {*names, "augmented"}
        demos = [{name: part for name, part in demo.items() if name in kept} for demo in state.demos]
        states[key] = state.model_copy(update={"demos": tuple(demos)})
    if problems:
        raise ProgramBrokenError(manifest.name, problems)
    return State(states, tuple(visible(path, 200) for path in ignored[:_MAX_IGNORED]))


def write_state(state: State, manifest: Manifest) -> bytes:
    """Serialise a state in a form that DSPy itself can load."""
    value: dict[str, Any] = {
        key: {
            "traces": [],
            "train": [],
            "demos": list(one.demos),
            # Without texts of fields, DSPy keeps those of the module that it loads the state into.
            "signature": {"instructions": one.signature.instructions, "fields": []},
            "lm": None,
        }
        for key, one in state.predictors.items()
    }
    value["metadata"] = {"dependency_versions": {"dspy": manifest.dspy_version}}
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
