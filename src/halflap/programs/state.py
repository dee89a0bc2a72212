"""What DSPy saved of a program's predictors: demos and instructions, and nothing else that the file may hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FieldText", "PredictorState", "State"]


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
    """The paths of what stood in the file and is never used: `select.config`, `select.lm.api_base`."""

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
