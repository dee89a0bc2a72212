"""The verdict on two workflows, with all that it is taken from, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from halflap.workflows.footprint import Unknown

if TYPE_CHECKING:
    from halflap.workflows.agreement import Agreement
    from halflap.workflows.equivalence import Equivalence
    from halflap.workflows.footprint import Footprint
    from halflap.workflows.soundness import Soundness

__all__ = ["NAMES", "Anomaly", "Mode", "Validation"]

Mode = Literal["strict", "balanced", "lenient"]

NAMES = ("original_workflow", "optimized_workflow")
"""What the two are called."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something of the two, or of one of them, that somebody should look at."""

    kind: str
    message: str
    workflow: str | None = None
    """Which of the two, where it is one."""
    trace: tuple[str, ...] | None = None
    """The tasks by which it shows."""

    def response(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "workflow": self.workflow,
            "message": self.message,
            "trace": None if self.trace is None else list(self.trace),
        }


@dataclass(frozen=True, slots=True)
class Validation:
    """The verdict, with all that it is taken from."""

    mode: Mode
    passed: bool
    reasons: tuple[str, ...]
    """Why it did not pass."""
    agreement: Agreement | None
    """None where a footprint is not known."""
    footprints: tuple[Footprint | Unknown, Footprint | Unknown]
    equivalence: Equivalence
    soundness: tuple[Soundness, Soundness]
    anomalies: tuple[Anomaly, ...]
    warnings: tuple[str, ...]
    unknown: tuple[str, ...]
    """What could not be found out, and why."""

    @property
    def conclusive(self) -> bool:
        return not self.unknown

    def response(self) -> dict[str, Any]:
        """Give it as JSON."""
        found, same = self.agreement, self.equivalence
        return {
            "validation_passed": self.passed,
            "validation_mode": self.mode,
            "reasons": list(self.reasons),
            "footprint_compatibility": None if found is None else found.cells,
            "directly_follows_similarity": None if found is None else found.directly_follows,
            "behavioral_equivalence": same.equivalent,
            "counterexample": None
            if same.trace is None
            else {
                "trace": list(same.trace),
                "only_in": NAMES[0] if same.only_in == "first" else NAMES[1],
                "shortest": same.shortest,
            },
            "differences": []
            if found is None
            else [
                {"row": one.row, "column": one.column, "original": one.first, "optimized": one.second}
                for one in found.differences
            ],
            "differing_cells": None if found is None else found.differing,
            "activities": None if found is None else list(found.activities),
            "start_activities": {
                name: None if isinstance(one, Unknown) else list(one.start_activities())
                for name, one in zip(NAMES, self.footprints, strict=True)
            },
            "end_activities": {
                name: None if isinstance(one, Unknown) else list(one.end_activities())
                for name, one in zip(NAMES, self.footprints, strict=True)
            },
            "sound": {name: one.sound for name, one in zip(NAMES, self.soundness, strict=True)},
            "anomalies": [one.response() for one in self.anomalies],
            "warnings": list(self.warnings),
            "conclusive": self.conclusive,
            "inconclusive_because": list(self.unknown),
        }
