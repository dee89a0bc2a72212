"""The verdict on two workflows: may one replace the other, by traces, footprint, soundness and the order of dependent activities.

strict: the same complete traces, and the new workflow is sound if the old one is. balanced: at least 0.8 of the footprint's cells agree, no dependent
order is reversed, and the new workflow is sound. lenient: at least 0.5 of the cells, the same activities, and the new workflow is sound. What is unknown
passes in no mode that needs it, and neither does a workflow that never completes or shows no activity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halflap.core.text import join
from halflap.workflows.analysis.equivalence import equivalence
from halflap.workflows.analysis.footprint import agreement, footprint
from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.answers import Anomaly, Counterexample, Mode, Verdict, Which
from halflap.workflows.model.net import MAX_STATES, Net

BALANCED, _LENIENT = 0.8, 0.5
"""The share of the footprint that has to agree."""
_FEW_NEIGHBOURS = 0.5
_MAX_DIFFERENCES = 1_000
_MAX_REVERSALS = 100


class _Side:
    """One of the two workflows, and what is known about it."""

    def __init__(self, name: Which, net: Net, bound: int) -> None:
        self.name: Which = name
        self.study = Study(net, bound)
        self.sound = soundness(self.study)
        found = footprint(self.study)
        self.unknown = found.why if isinstance(found, Unknown) else None
        self.footprint = None if isinstance(found, Unknown) else found
        order = first_order(self.study)
        self.order = None if isinstance(order, Unknown) else order

    @property
    def incomplete(self) -> str | None:
        """Why it cannot replace, or be replaced: it has no visible activity."""
        if self.footprint is None or self.footprint.activities:
            return None
        if self.footprint.empty_trace:
            return f"{self.name} shows no activity: every task that can happen is silent, so there is nothing to compare."
        why = f" {self.sound.failures[0].sentence}" if self.sound.failures else ""
        return f"{self.name} never completes: no case reaches the output properly.{why}"


def compare(original: Net, optimized: Net, mode: Mode = "balanced", bound: int = MAX_STATES) -> Verdict:
    """Compare an optimised workflow with the original."""
    comparison = _Comparison(
        _Side("original_workflow", original, bound), _Side("optimized_workflow", optimized, bound)
    )
    return comparison.verdict(mode)


class _Comparison:
    def __init__(self, old: _Side, new: _Side) -> None:
        self.old, self.new = old, new
        self.sides = (old, new)
        self.same = equivalence(old.study, new.study)
        self.agreed = None
        if old.footprint is not None and new.footprint is not None:
            self.agreed = agreement(old.footprint, new.footprint, _MAX_DIFFERENCES)
        self.reversed: tuple[tuple[str, str], ...] | None = None
        if old.order is not None and new.order is not None:
            self.reversed = reversals(data_by_label(old.study.net), old.order, new.order)

    def verdict(self, mode: Mode) -> Verdict:
        agreed, difference = self.agreed, self.same.difference
        reasons, unknown = list(self.reasons(mode)), list(self.unknown())
        prints = {side.name: side.footprint for side in self.sides}
        counterexample = None
        if difference is not None:
            only_in = self.sides[not difference.first].name
            counterexample = Counterexample(trace=list(difference.trace), only_in=only_in)
        return Verdict(
            validation_passed=not reasons,
            validation_mode=mode,
            reasons=reasons,
            footprint_compatibility=agreed.cells if agreed else None,
            directly_follows_similarity=agreed.directly_follows if agreed else None,
            behavioral_equivalence=self.same.equivalent,
            counterexample=counterexample,
            differences=list(agreed.differences) if agreed else [],
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
            if mode == "lenient" and any(self.changed_activities()):
                yield "The activities are not the same."
        elif not incomplete:
            yield "How far the footprints agree is unknown."
        if mode == "balanced" and self.reversed is None:
            yield "Whether the order of dependent activities is kept is unknown."
        elif mode == "balanced" and self.reversed:
            count = len(self.reversed)
            yield f"The order of {count} dependent pair{'s' * (count > 1)} can be reversed."
        if mode != "strict" or self.old.sound.sound:
            if self.new.sound.sound is None:
                yield f"Whether the optimised workflow is sound is unknown: {self.new.sound.problem}"
            elif not self.new.sound.sound:
                yield "The optimised workflow is not sound."

    def changed_activities(self) -> tuple[list[str], list[str]]:
        """Return the activities that only the old workflow has, and those that only the new one has."""
        if self.agreed is None or self.old.footprint is None or self.new.footprint is None:
            return [], []
        before, after = {*self.old.footprint.activities}, {*self.new.footprint.activities}
        return sorted(before - after), sorted(after - before)

    def anomalies(self) -> Iterator[Anomaly]:
        for side in self.sides:
            for one in side.sound.failures:
                yield Anomaly(kind=one.kind, message=one.why, workflow=side.name, trace=list(one.trace))
        for kind, message in self.changes():
            yield Anomaly(kind=kind, message=message, workflow=self.new.name)

    def changes(self) -> Iterator[tuple[str, str]]:
        missing, added = self.changed_activities()
        yield from (("missing_activity", f"No complete case has '{one}'.") for one in missing)
        yield from (("added_activity", f"It has '{one}'; the original does not.") for one in added)
        old, new = self.old.footprint, self.new.footprint
        if self.agreed is not None and old is not None and new is not None:
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
        agreed = self.agreed
        if agreed is not None and agreed.cells >= BALANCED and agreed.directly_follows < _FEW_NEIGHBOURS:
            yield (
                f"{agreed.cells:.3f} of the cells agree because most activities are unrelated; "
                f"only {agreed.directly_follows:.3f} of the direct neighbours are common."
            )
        if agreed is not None and not agreed.differing and self.same.equivalent is False:
            yield "The footprints are the same and the traces are not."

    def unknown(self) -> Iterator[str]:
        for side in self.sides:
            if side.sound.sound is None:
                yield f"Soundness of {side.name}: {side.sound.problem}"
            if side.unknown is not None:
                yield f"Footprint of {side.name}: {side.unknown}"
        if self.same.equivalent is None:
            yield f"Equivalence of traces: {self.same.problem}"


def _listed(names: Iterable[str], most: int = 10) -> str:
    return join((f"'{one}'" for one in names), limit=most) or "nothing"
