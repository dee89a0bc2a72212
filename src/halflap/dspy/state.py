"""What DSPy saved of a program's predictors: demos and instructions. Everything else in the file is dropped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, StringConstraints, ValidationError

from halflap.core.errors import ProgramBrokenError
from halflap.core.text import visible
from halflap.dspy.manifest import problems_of
from halflap.dspy.strict_json import UnreadableError, read_json

if TYPE_CHECKING:
    from halflap.dspy.spec import Manifest

__all__ = ["MAX_DEMO", "STATE", "PredictorState", "State", "read_state", "write_state"]

STATE = "state.json"
MAX_DEMO = 100_000
"""Longest demo, as characters of JSON."""
_MAX_DROPPED = 50
_Text = Annotated[StrictStr, StringConstraints(max_length=100_000)]


class _Kept(BaseModel):
    """DSPy sets unknown keys as attributes: `config` could send the key elsewhere, so they are never passed on."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FieldText(_Kept):
    """How a field is presented to the model."""

    prefix: _Text
    description: _Text


class Signature(_Kept):
    """Instructions instead of those in the manifest, and a text for each field, in DSPy's order."""

    instructions: _Text | None = None
    fields: tuple[FieldText, ...] | None = None


class Demo(BaseModel):
    """An example: values by field, and `augmented` where an optimizer made it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    augmented: StrictBool = False


class PredictorState(_Kept):
    """What is kept of one of DSPy's own predictors."""

    traces: list[Any] = []
    train: list[Any] = []
    demos: tuple[Demo, ...] = Field(default=(), max_length=100)
    signature: Signature = Signature()


class State(BaseModel):
    """What is kept of a state, by DSPy's keys: `select`, `select.predict`, `plan.react`, `plan.extract.predict`."""

    model_config = ConfigDict(frozen=True)

    predictors: dict[str, PredictorState]
    dropped: tuple[str, ...] = ()
    """What the file had besides, by path: `select.config`, `select.lm`."""

    @property
    def clean(self) -> dict[str, Any]:
        """The state in DSPy's form, with `demos`, `signature`, `train` and `traces` alone."""
        return {key: one.model_dump(mode="json", exclude_unset=True) for key, one in self.predictors.items()}


def read_state(data: bytes, manifest: Manifest) -> State:
    """Parse the state of a program; raise all of its problems at once."""
    try:
        value = read_json(data)
    except UnreadableError as error:
        raise ProgramBrokenError(manifest.name, [f"{STATE}: {error}"]) from None
    if not isinstance(value, dict):
        raise ProgramBrokenError(manifest.name, [f"{STATE}: must be an object."])
    signatures = {key: names for one in manifest.predictors for key, names in one.signatures.items()}
    kept, unnamed = _named(value, manifest, signatures)
    problems = [
        f"{STATE}: {key} is missing; the manifest has this predictor."
        for key in signatures
        if key not in kept
    ]
    dropped = [key for key in value if key not in {*kept, *unnamed, "metadata"}]
    found: dict[str, PredictorState] = {}
    for key, one in kept.items():
        problems += _check(one, key, signatures[key], dropped)
        try:
            # A signature as text would make DSPy import the modules that it names; it is refused as "not an object".
            found[key] = PredictorState.model_validate(one)
        except ValidationError as error:
            problems += problems_of(error, f"{STATE}: {key}")
    if problems:
        raise ProgramBrokenError(manifest.name, problems)
    return State(predictors=found, dropped=tuple(visible(path, 200) for path in dropped[:_MAX_DROPPED]))


def _named(
    value: dict[str, Any], manifest: Manifest, signatures: dict[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Return the states by their full keys: DSPy saves a module that is a single predictor without its name."""
    if len(manifest.predictors) > 1:
        return {key: value[key] for key in signatures if key in value}, set()
    if list(signatures) == [manifest.predictors[0].name] and "signature" in value:
        return {next(iter(signatures)): value}, {*value}
    short = {key: key if key in value else key.partition(".")[2] or "self" for key in signatures}
    return {key: value[place] for key, place in short.items() if place in value}, {*short.values()}


def _check(value: Any, key: str, names: tuple[str, ...], dropped: list[str]) -> list[str]:
    """Remove from a predictor's state what is never used, note it as dropped, and return what is wrong with the rest."""
    if not isinstance(value, dict):
        return []
    # DSPy always writes `lm`: null unless one was set.
    dropped += [
        f"{key}.{one}"
        for one in value
        if one not in {"demos", "signature", "train", "traces", "metadata"}
        and not (one == "lm" and value[one] is None)
    ]
    problems = []
    for at, demo in enumerate(value["demos"] if isinstance(value.get("demos"), list) else ()):
        if isinstance(demo, dict):
            for one in [one for one in demo if one not in names and one != "augmented"]:
                dropped.append(f"{key}.demos[{at}].{one}")
                del demo[one]
            if len(json.dumps(demo, ensure_ascii=False)) > MAX_DEMO:
                problems.append(f"{STATE}: {key}.demos[{at}] is longer than {MAX_DEMO:,} characters.")
    signature = value.get("signature")
    if isinstance(signature, dict):
        dropped += [f"{key}.signature.{one}" for one in signature if one not in {"instructions", "fields"}]
        texts = signature.get("fields")
        if isinstance(texts, list) and len(texts) != len(names):
            problems.append(
                f"{STATE}: {key}.signature.fields has {len(texts)} fields; the manifest has {len(names)}: {', '.join(names)}."
            )
    return problems


def write_state(state: State, manifest: Manifest) -> bytes:
    """Serialise a state so that DSPy itself can load it."""
    empty: dict[str, Any] = {"traces": [], "train": [], "demos": [], "signature": {}, "lm": None}
    value: dict[str, Any] = {key: {**empty, **one} for key, one in state.clean.items()}
    value["metadata"] = {"dependency_versions": {"dspy": manifest.dspy_version}}
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
