"""The verdict on two workflows: may one replace the other, by traces, footprint, soundness and the order of dependent activities.

strict: the same complete traces, and the new workflow is sound if the old one is. balanced: at least 0.8 of the footprint's cells agree, no dependent
order is reversed, and the new workflow is sound. lenient: at least 0.5 of the cells, the same activities, and the new workflow is sound. What is unknown
passes in no mode that needs it, and neither does a workflow that never completes or shows no activity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halflap.core.text import join, plural
from halflap.workflows.analysis.equivalence import equivalence
from halflap.workflows.analysis.footprint import Agreement, footprint
from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Anomaly, Counterexample, Mode, Verdict, Which
from halflap.workflows.model.net import MAX_STATES, Net

BALANCED, _LENIENT = 0.8, 0.5
"""The share of the footprint that has to agree."""
_MAX_DIFFERENCES = 1_000
_MAX_REVERSALS = 100


class _Side:
    """One of the two workflows, and what is known about it."""

    def __init__(self, name: Which, net: Net, bound: int) -> None:
        self.name: Which = name
        self.study = Study(net, bound)
        self.sound = soundness(self.study)
        self.footprint = footprint(self.study)
        self.order = first_order(self.study)

    @property
    def incomplete(self) -> str | None:
        """Why it cannot replace, or be replaced: it has no visible activity."""
        if self.footprint is None or self.footprint.activities:
            return None
        if self.footprint.empty_trace:
            return f"{self.name} shows no activity: every task that can happen is silent, so there is nothing to compare."
        why = f" {self.sound.failures[0].sentence}" if self.sound.failures else ""
        return f"{self.name} never completes: no case reaches the output properly.{why}"

    @property
    def activities(self) -> set[str]:
        return set() if self.footprint is None else {*self.footprint.activities}


def compare(original: Net, optimized: Net, mode: Mode = "balanced", bound: int = MAX_STATES) -> Verdict:
    """Compare an optimised workflow with the original."""
    old, new = _Side("original_workflow", original, bound), _Side("optimized_workflow", optimized, bound)
    return _Comparison(old, new).verdict(mode)


class _Comparison:
    def __init__(self, old: _Side, new: _Side) -> None:
        self.old, self.new = old, new
        self.sides = (old, new)
        self.same = equivalence(old.study, new.study)
        self.agreed: Agreement | None = None
        if old.footprint is not None and new.footprint is not None and old.activities and new.activities:
            self.agreed = Agreement(old.footprint, new.footprint)
        self.reversed: tuple[tuple[str, str], ...] | None = None
        if old.order is not None and new.order is not None:
            self.reversed = reversals(data_by_label(old.study.net), old.order, new.order)

    def verdict(self, mode: Mode) -> Verdict:
        agreed, same = self.agreed, self.same
        reasons, unknown = list(self.reasons(mode)), list(self.unknown())
        prints = {side.name: side.footprint for side in self.sides}
        counterexample = None
        if same.trace is not None:
            only_in = self.sides[not same.only_in_first].name
            counterexample = Counterexample(trace=list(same.trace), only_in=only_in)
        return Verdict(
            validation_passed=not reasons,
            validation_mode=mode,
            reasons=reasons,
            footprint_compatibility=agreed.cells if agreed else None,
            behavioral_equivalence=same.equivalent,
            counterexample=counterexample,
            differences=agreed.differences(_MAX_DIFFERENCES) if agreed else [],
            differing_cells=agreed.differing if agreed else None,
            activities=list(agreed.activities) if agreed else None,
            start_activities={name: one.start_activities() if one else None for name, one in prints.items()},
            end_activities={name: one.end_activities() if one else None for name, one in prints.items()},
            sound={side.name: side.sound.sound for side in self.sides},
            anomalies=list(self.anomalies()),
            warnings=list(self.warnings()),
            conclusive=not unknown,
            inconclusive_because=unknown,
        )

    def reasons(self, mode: Mode) -> Iterator[str]:  # noqa: C901 -- one sentence after the other
        """Yield why the verdict does not pass."""
        incomplete = [side.incomplete for side in self.sides if side.incomplete is not None]
        yield from incomplete
        if mode == "strict":
            if self.same.equivalent is None:
                yield f"Whether the traces are the same is unknown: {self.same.problem}"
            elif not self.same.equivalent:
                yield "The traces are not the same."
        elif self.agreed is not None:
            least = BALANCED if mode == "balanced" else _LENIENT
            if self.agreed.cells < least:
                yield f"The footprints agree in {self.agreed.cells:.3f} of the cells; {least:g} are required."
            if mode == "lenient" and self.old.activities != self.new.activities:
                yield "The activities are not the same."
        elif not incomplete:
            yield "How far the footprints agree is unknown."
        if mode == "balanced" and self.reversed is None:
            yield "Whether the order of dependent activities is kept is unknown."
        elif mode == "balanced" and self.reversed:
            yield f"The order of {plural(len(self.reversed), 'dependent pair')} can be reversed."
        if mode != "strict" or self.old.sound.sound:
            if self.new.sound.sound is None:
                yield f"Whether the optimised workflow is sound is unknown: {self.new.study.problem}"
            elif not self.new.sound.sound:
                yield "The optimised workflow is not sound."

    def anomalies(self) -> Iterator[Anomaly]:
        for side in self.sides:
            for one in side.sound.failures:
                yield Anomaly(kind=one.kind, message=one.message, workflow=side.name, trace=one.trace)
        for kind, message in self.changes():
            yield Anomaly(kind=kind, message=message, workflow=self.new.name)

    def changes(self) -> Iterator[tuple[str, str]]:
        old, new = self.old.footprint, self.new.footprint
        if self.agreed is not None and old is not None and new is not None:
            for one in sorted(self.old.activities - self.new.activities):
                yield "missing_activity", f"No complete case has '{one}'."
            for one in sorted(self.new.activities - self.old.activities):
                yield "added_activity", f"It has '{one}'; the original does not."
            for kind, verb, before, after in (
                ("start_activities", "begin", old.start_activities(), new.start_activities()),
                ("end_activities", "end", old.end_activities(), new.end_activities()),
            ):
                if before != after:
                    now, then = _listed(after), _listed(before)
                    yield kind, f"Cases {verb} with {now}; in the original they {verb} with {then}."
        pairs = self.reversed or ()
        for one, other in pairs[:_MAX_REVERSALS]:
            message = f"'{other}' depends on '{one}', which came first, and can now precede it."
            yield "reversed_order", message
        if len(pairs) > _MAX_REVERSALS:
            yield "reversed_order", f"And {len(pairs) - _MAX_REVERSALS} more pairs like these."

    def warnings(self) -> Iterator[str]:
        undeclared = [
            task.id
            for task in self.old.study.net.tasks.values()
            if task.label is not None and (task.reads is None or task.writes is None)
        ]
        if undeclared:
            yield f"{self.old.name}: {_listed(undeclared, 5)} declare no reads and writes, so everything counts as dependent on them."
        for side in self.sides:
            if any(flow.predicate is not None for flow in side.study.net.flows):
                yield f"{side.name}: predicates are not evaluated; every way of a choice counts as possible."
            if side.footprint is not None and side.footprint.empty_trace:
                yield f"{side.name}: a case can be complete with no visible activity."
            yield from (f"{side.name}: {note}" for note in side.study.net.notes)
        if self.agreed is not None and not self.agreed.differing and self.same.equivalent is False:
            yield "The footprints are the same and the traces are not."

    def unknown(self) -> Iterator[str]:
        for side in self.sides:
            if side.study.problem is not None:
                what = "Footprint" if side.sound.failures else "Soundness and footprint"
                yield f"{what} of {side.name}: {side.study.problem}"
        if self.same.equivalent is None:
            yield f"Equivalence of traces: {self.same.problem}"


def _listed(names: Iterable[str], most: int = 10) -> str:
    return join((f"'{one}'" for one in names), limit=most) or "nothing"
