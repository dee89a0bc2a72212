"""The verdict on two workflows: whether one may replace the other, by traces, footprint, soundness and the order of dependent activities.

strict: the same complete traces, and the new workflow is sound if the old one is. balanced: at least 0.8 of the footprint's
cells agree, no dependent order is reversed, and the new workflow is sound. lenient: at least 0.5 of the cells agree, the activities
are the same, and the new workflow is sound. A mode fails on anything unknown that it needs, and on a workflow that never completes
or shows no activity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halflap.core.text import plural
from halflap.workflows.analysis.equivalence import equivalence
from halflap.workflows.analysis.footprint import Agreement, footprint
from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.soundness import both, soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Anomaly, Counterexample, Mode, Verdict, Which
from halflap.workflows.model.net import MAX_STATES, Net, quoted

BALANCED, _LENIENT = 0.8, 0.5
"""The share of the footprint that has to agree."""
_MAX_DIFFERENCES = 1_000
_MAX_REVERSALS = 100


def compare(original: Net, optimized: Net, mode: Mode = "balanced", bound: int = MAX_STATES) -> Verdict:
    """Compare an optimised workflow with the original; sub-nets are compared with those of the same id."""
    old, new = _Side("original_workflow", original, bound), _Side("optimized_workflow", optimized, bound)
    verdict = _Comparison(old, new).verdict(mode)
    subnets = {net.id: net for net in optimized.subnets}
    for net in original.subnets:
        if net.id in subnets and net != subnets[net.id]:
            verdict = _with_subnet(verdict, net.id, compare(net, subnets[net.id], mode, bound))
    return verdict


def _with_subnet(verdict: Verdict, name: str, inner: Verdict) -> Verdict:
    """Add the verdict on a sub-net, whose soundness that on the whole has already."""

    def named(texts: Iterable[str]) -> list[str]:
        return [f"In the net '{name}': {text}" for text in texts]

    changes = (one for one in inner.anomalies if one.trace is None)
    return verdict.model_copy(
        update={
            "validation_passed": verdict.validation_passed and inner.validation_passed,
            "reasons": verdict.reasons + named(inner.reasons),
            "behavioral_equivalence": both(verdict.behavioral_equivalence, inner.behavioral_equivalence),
            "counterexample": verdict.counterexample or inner.counterexample,
            "anomalies": [
                *verdict.anomalies,
                *(
                    one.model_copy(update={"message": text})
                    for one in changes
                    for text in named([one.message])
                ),
            ],
            "conclusive": verdict.conclusive and inner.conclusive,
            "inconclusive_because": verdict.inconclusive_because + named(inner.inconclusive_because),
        }
    )


class _Side:
    """One of the two workflows, analysed."""

    def __init__(self, name: Which, net: Net, bound: int) -> None:
        self.name: Which = name
        self.study = Study(net, bound)
        self.soundness = soundness(self.study)
        self.footprint = footprint(self.study)
        self.order = first_order(self.study)
        self.activities = set() if self.footprint is None else {*self.footprint.activities}
        self.starts = None if self.footprint is None else self.footprint.start_activities()
        self.ends = None if self.footprint is None else self.footprint.end_activities()

    @property
    def nothing_to_compare(self) -> str | None:
        """Why it has no visible activity."""
        if self.footprint is None or self.activities:
            return None
        if self.footprint.empty_trace:
            return f"{self.name} shows no activity: every task that can happen is silent."
        why = f" {self.soundness.failures[0].sentence}" if self.soundness.failures else ""
        return f"{self.name} never completes: no case reaches the output properly.{why}"


class _Comparison:
    def __init__(self, old: _Side, new: _Side) -> None:
        self.old, self.new = self.sides = (old, new)
        self.traces = equivalence(old.study, new.study)
        self.agreement: Agreement | None = None
        if old.footprint is not None and new.footprint is not None and old.activities and new.activities:
            self.agreement = Agreement(old.footprint, new.footprint)
        self.reversed: tuple[tuple[str, str], ...] | None = None
        if old.order is not None and new.order is not None:
            self.reversed = reversals(data_by_label(old.study.net), old.order, new.order)

    def verdict(self, mode: Mode) -> Verdict:
        agreement, traces = self.agreement, self.traces
        reasons, unknown = list(self.reasons(mode)), list(self.unknown())
        counterexample = None
        if traces.trace is not None:
            only_in = self.sides[not traces.only_in_first].name
            counterexample = Counterexample(trace=list(traces.trace), only_in=only_in)
        return Verdict(
            validation_passed=not reasons,
            validation_mode=mode,
            reasons=reasons,
            footprint_compatibility=agreement.cells if agreement else None,
            directly_follows_similarity=agreement.directly_follows if agreement else None,
            behavioral_equivalence=traces.equivalent,
            counterexample=counterexample,
            differences=agreement.differences(_MAX_DIFFERENCES) if agreement else [],
            differing_cells=agreement.differing if agreement else None,
            activities=list(agreement.activities) if agreement else None,
            start_activities={side.name: side.starts for side in self.sides},
            end_activities={side.name: side.ends for side in self.sides},
            sound={side.name: side.soundness.sound for side in self.sides},
            anomalies=list(self.anomalies()),
            warnings=list(self.warnings()),
            conclusive=not unknown,
            inconclusive_because=unknown,
        )

    def reasons(self, mode: Mode) -> Iterator[str]:  # noqa: C901 -- one sentence after the other
        """Yield why the verdict does not pass."""
        nothing = [side.nothing_to_compare for side in self.sides if side.nothing_to_compare is not None]
        yield from nothing
        if mode == "strict":
            if self.traces.equivalent is None:
                yield f"Whether the traces are the same is unknown: {self.traces.problem}"
            elif not self.traces.equivalent:
                yield "The traces are not the same."
        elif self.agreement is not None:
            least = BALANCED if mode == "balanced" else _LENIENT
            if self.agreement.cells < least:
                yield f"The footprints agree in {self.agreement.cells:.3f} of the cells; {least:g} are required."
            if mode == "lenient" and self.old.activities != self.new.activities:
                yield "The activities are not the same."
        elif not nothing:
            yield "How far the footprints agree is unknown."
        if mode == "balanced" and self.reversed is None:
            yield "Whether the order of dependent activities is kept is unknown."
        elif mode == "balanced" and self.reversed:
            yield f"The order of {plural(len(self.reversed), 'dependent pair')} can be reversed."
        if mode != "strict" or self.old.soundness.sound:
            if self.new.soundness.sound is None:
                yield f"Whether the optimised workflow is sound is unknown: {self.new.soundness.problem}"
            elif not self.new.soundness.sound:
                yield "The optimised workflow is not sound."

    def anomalies(self) -> Iterator[Anomaly]:
        for side in self.sides:
            for one in side.soundness.failures:
                yield Anomaly(kind=one.kind, message=one.message, workflow=side.name, trace=one.trace)
        for kind, message in self.changes():
            yield Anomaly(kind=kind, message=message, workflow=self.new.name)

    def changes(self) -> Iterator[tuple[str, str]]:
        old, new = self.old, self.new
        if self.agreement is not None:
            for one in sorted(old.activities - new.activities):
                yield "missing_activity", f"No complete case has '{one}'."
            for one in sorted(new.activities - old.activities):
                yield "added_activity", f"It has '{one}'; the original does not."
            for kind, verb, before, after in (
                ("start_activities", "begin", old.starts, new.starts),
                ("end_activities", "end", old.ends, new.ends),
            ):
                if before != after:
                    now, then = quoted(after or ()) or "nothing", quoted(before or ()) or "nothing"
                    yield kind, f"Cases {verb} with {now}; in the original they {verb} with {then}."
        pairs = self.reversed or ()
        for one, other in pairs[:_MAX_REVERSALS]:
            yield "reversed_order", f"'{other}' depends on '{one}', which came first, and can now precede it."
        if len(pairs) > _MAX_REVERSALS:
            yield "reversed_order", f"{len(pairs) - _MAX_REVERSALS} more dependent pairs can be reversed."

    def warnings(self) -> Iterator[str]:
        tasks = [task for task in self.old.study.net.tasks.values() if task.label is not None]
        undeclared = [task.id for task in tasks if task.reads is None or task.writes is None]
        if undeclared:
            yield f"{self.old.name}: {quoted(undeclared)} declare no reads and writes, so everything counts as dependent on them."
        for side in self.sides:
            if any(flow.predicate is not None for flow in side.study.net.flows):
                yield f"{side.name}: predicates are not evaluated; every branch of a choice counts as possible."
            if side.footprint is not None and side.footprint.empty_trace:
                yield f"{side.name}: a case can be complete with no visible activity."
            yield from (f"{side.name}: {note}" for note in side.study.net.notes)
        if self.agreement is not None and not self.agreement.differing and self.traces.equivalent is False:
            yield "The footprints are the same and the traces are not."

    def unknown(self) -> Iterator[str]:
        for side in self.sides:
            if side.soundness.sound is None:
                yield f"Soundness of {side.name}: {side.soundness.problem}"
            if side.footprint is None:
                yield f"Footprint of {side.name}: {side.study.problem}"
        if self.traces.equivalent is None:
            yield f"Equivalence of traces: {self.traces.problem}"
