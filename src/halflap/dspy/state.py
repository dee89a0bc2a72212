"""What DSPy saved of a program's predictors: demos and instructions, and nothing else that the file may hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ProgramBrokenError
from halflap.dspy.documents import Problems, UnreadableError, read_json, within
from halflap.dspy.parts import signatures_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.dspy.manifest import Manifest

__all__ = ["STATE", "FieldText", "PredictorState", "State", "read_state", "size_of", "write_state"]

STATE = "state.json"

_KEPT = ("demos", "signature", "train", "traces")
_OF_DEMOS = "augmented"
"""What an optimizer marks a demo with that it made; DSPy looks at it."""
_MOST_DEMOS = 100
_LONGEST_DEMO = 100_000
_LONGEST_TEXT = 100_000
_MOST_DROPPED = 50


@dataclass(frozen=True, slots=True)
class FieldText:
    """How a field is put to the language model."""

    prefix: str
    description: str


@dataclass(frozen=True, slots=True)
class PredictorState:
    """What is kept of one predictor of DSPy's."""

    demos: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    """Examples: values by the names of fields, and `augmented` where an optimizer made them."""
    instructions: str | None = None
    """Instead of those of the manifest."""
    fields: tuple[FieldText, ...] | None = None
    """One for each field, in the order of `signatures_of`."""
    train: tuple[Any, ...] = field(default=(), hash=False)
    traces: tuple[Any, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class State:
    """What is kept of a program's state, by DSPy's keys: `select`, `select.predict`, `plan.react`, `plan.extract.predict`."""

    predictors: Mapping[str, PredictorState] = field(hash=False)
    dropped: tuple[str, ...] = ()
    """The paths of what stood in the file and is never used: `select.config`, `select.lm`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "predictors", MappingProxyType(dict(self.predictors)))

    @property
    def clean(self) -> dict[str, Any]:
        """The state as DSPy has it, with `demos`, `signature`, `train` and `traces` alone."""
        return {key: _clean(one) for key, one in self.predictors.items()}


def _clean(one: PredictorState) -> dict[str, Any]:
    signature: dict[str, Any] = {}
    if one.instructions is not None:
        signature["instructions"] = one.instructions
    if one.fields is not None:
        signature["fields"] = [
            {"prefix": text.prefix, "description": text.description} for text in one.fields
        ]
    return {
        "traces": list(one.traces),
        "train": list(one.train),
        "demos": [dict(demo) for demo in one.demos],
        "signature": signature,
    }


def read_state(data: bytes, manifest: Manifest) -> State:
    """Read the state of a program; raises every problem of it at once. What is not known is dropped, not believed."""
    reader = _Reader(manifest)
    try:
        value = read_json(data)
    except UnreadableError as error:
        reader.problems.add(str(error))
    else:
        if isinstance(value, Mapping):
            return reader.read(value)
        reader.problems.wrong("", "an object", value)
    raise ProgramBrokenError(manifest.name, reader.problems.found)


def size_of(demo: Mapping[str, Any]) -> int | None:
    """Give how many bytes a demo takes as it is saved; None if it cannot be: no plain JSON, or too long."""
    try:
        text = json.dumps(demo, ensure_ascii=False, allow_nan=False)
        read_json(text.encode())
    except (TypeError, ValueError, RecursionError, UnreadableError):
        return None
    return len(text.encode()) if len(text) <= _LONGEST_DEMO else None


def write_state(state: State, manifest: Manifest) -> bytes:
    """Write a state as DSPy does, so that DSPy itself can load it, too."""
    value: dict[str, Any] = {key: {**one, "lm": None} for key, one in state.clean.items()}
    value["metadata"] = {"dependency_versions": {"dspy": manifest.dspy_version}}
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


class _Reader:
    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.problems = Problems(STATE)
        self.dropped: list[str] = []

    def read(self, value: Mapping[str, Any]) -> State:
        signatures = {
            key: names for one in self.manifest.predictors for key, names in signatures_of(one).items()
        }
        found: dict[str, PredictorState] = {}
        used: set[str] = set()
        if "signature" in value and list(signatures) == [self.manifest.predictors[0].name]:
            # A Predict that is saved by itself, and is no part of a module: its state is all that there is.
            value = {"self": {key: inner for key, inner in value.items() if key != "metadata"}}
        for key, names in signatures.items():
            # A module that is a single predictor is saved without a name for it.
            place = key if key in value else self._alone(key)
            if place is None or place not in value:
                self.problems.add(f'"{key}" is missing: the manifest has such a predictor.')
                continue
            used.add(place)
            found[key] = self._predictor(value[place], place, names)
        for key in value:
            if key not in used and key != "metadata":
                self._drop(within("", key))
        if self.problems.found:
            raise ProgramBrokenError(self.manifest.name, self.problems.found)
        return State(found, tuple(self.dropped))

    def _alone(self, key: str) -> str | None:
        if len(self.manifest.predictors) > 1:
            return None
        return key.partition(".")[2] or "self"

    def _drop(self, path: str) -> None:
        if len(self.dropped) < _MOST_DROPPED:
            self.dropped.append(path)

    def _predictor(self, value: Any, path: str, names: Sequence[str]) -> PredictorState:
        if not isinstance(value, Mapping):
            self.problems.wrong(path, "an object", value)
            return PredictorState()
        for key, inner in value.items():
            # DSPy always writes `lm`; it is nothing unless one was set.
            if key not in _KEPT and not (key == "lm" and inner is None):
                self._drop(within(path, key))
        instructions, texts = self._signature(value.get("signature", {}), within(path, "signature"), names)
        return PredictorState(
            demos=self._demos(value.get("demos", []), within(path, "demos"), names),
            instructions=instructions,
            fields=texts,
            train=self._list(value.get("train", []), within(path, "train")),
            traces=self._list(value.get("traces", []), within(path, "traces")),
        )

    def _list(self, value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            self.problems.wrong(path, "a list", value)
            return ()
        return tuple(value)

    def _demos(self, value: Any, path: str, names: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
        listed = self._list(value, path)
        if len(listed) > _MOST_DEMOS:
            self.problems.add(f"{path} has more than {_MOST_DEMOS} demos.")
            return ()
        demos: list[Mapping[str, Any]] = []
        for at, demo in enumerate(listed):
            place = within(path, at)
            if not isinstance(demo, Mapping):
                self.problems.wrong(place, "an object with the values of fields", demo)
                continue
            for key in demo:
                if key not in names and key != _OF_DEMOS:
                    self._drop(within(place, key))
            kept = {key: inner for key, inner in demo.items() if key in names or key == _OF_DEMOS}
            if not isinstance(kept.get(_OF_DEMOS, False), bool):
                self.problems.wrong(within(place, _OF_DEMOS), "true or false", kept[_OF_DEMOS])
            if len(json.dumps(kept, ensure_ascii=False)) > _LONGEST_DEMO:
                self.problems.add(f"{place} is longer than {_LONGEST_DEMO:,} characters.")
            demos.append(kept)
        return tuple(demos)

    def _signature(
        self, value: Any, path: str, names: Sequence[str]
    ) -> tuple[str | None, tuple[FieldText, ...] | None]:
        if isinstance(value, str):
            # DSPy would import whatever modules such a text names.
            self.problems.add(f"{path} is a text, and may only be an object: DSPy runs what a text names.")
            return None, None
        if not isinstance(value, Mapping):
            self.problems.wrong(path, "an object with instructions and fields", value)
            return None, None
        for key in value:
            if key not in {"instructions", "fields"}:
                self._drop(within(path, key))
        instructions = self._text(value, "instructions", path) if "instructions" in value else None
        if "fields" not in value:
            return instructions, None
        place = within(path, "fields")
        texts = self._list(value["fields"], place)
        if len(texts) != len(names):
            self.problems.add(
                f"{place} has {len(texts)} fields, and the manifest {len(names)}: {', '.join(names)}."
            )
        return instructions, tuple(self._field(one, within(place, at)) for at, one in enumerate(texts))

    def _field(self, value: Any, path: str) -> FieldText:
        if not isinstance(value, Mapping):
            self.problems.wrong(path, "an object with prefix and description", value)
            return FieldText("", "")
        for key in value:
            if key not in {"prefix", "description"}:
                self._drop(within(path, key))
        return FieldText(self._text(value, "prefix", path), self._text(value, "description", path))

    def _text(self, value: Mapping[str, Any], key: str, path: str) -> str:
        text = value.get(key)
        if not isinstance(text, str):
            self.problems.wrong(within(path, key), "a text", text)
            return ""
        if len(text) > _LONGEST_TEXT:
            self.problems.add(f"{within(path, key)} is longer than {_LONGEST_TEXT:,} characters.")
        return text
