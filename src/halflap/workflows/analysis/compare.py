"""The verdict on two workflows: may one replace the other, by traces, footprint, soundness and the order of dependent activities.

strict: the same complete traces, and the new workflow is sound if the old one is. balanced: at least 0.8 of the footprint's cells agree, no dependent
order is reversed, and the new workflow is sound. lenient: at least 0.5 of the cells, the same activities, and the new workflow is sound. What is unknown
passes in no mode that needs it, and neither does a workflow that never completes or shows no activity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from halflap.core.errors import UsageError, WorkflowError
from halflap.core.text import join
from halflap.workflows.analysis.equivalence import equivalence
from halflap.workflows.analysis.footprint import agreement, footprint
from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.answers import Anomaly, Counterexample, Mode, Verdict, Which

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.analysis.equivalence import Equivalence
    from halflap.workflows.analysis.footprint import Agreement, Footprint
    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.model.net import Bound, Net

__all__ = ["BALANCED", "Mode", "compare"]

_NAMES: tuple[Which, Which] = ("original_workflow", "optimized_workflow")
BALANCED, _LENIENT = 0.8, 0.5
"""The share of the footprint that has to agree."""
_FEW_NEIGHBOURS = 0.5
_MAX_DIFFERENCES = 1_000
_MAX_REVERSALS = 100


def compare(original: Net, optimized: Net, mode: Mode = "balanced", bound: Bound | None = None) -> Verdict:
    """Compare an optimised workflow with the original."""
    if mode not in get_args(Mode):
        raise UsageError(f"There is no validation mode '{mode}'; there are {join(get_args(Mode))}.")
    old, new = Study(original, bound), Study(optimized, bound)
    _check_or_gates(old, new)
    sound = (soundness(old), soundness(new))
    prints = (footprint(old), footprint(new))
    found = None
    if not isinstance(prints[0], Unknown) and not isinstance(prints[1], Unknown):
        found = agreement(prints[0], prints[1], _MAX_DIFFERENCES)
    same = equivalence(old, new)
    orders = (first_order(old), first_order(new))
    reversed_: tuple[tuple[str, str], ...] | None = None
    if not isinstance(orders[0], Unknown) and not isinstance(orders[1], Unknown):
        reversed_ = reversals(data_by_label(original), orders[0], orders[1])
    incomplete = list(_incomplete(prints, sound))
    reasons = [*incomplete, *_reasons(mode, found, same, sound, reversed_, judged=not incomplete)]
    anomalies = [
        Anomaly(kind=failure.kind, message=failure.why, workflow=name, trace=list(failure.trace))
        for name, one in zip(_NAMES, sound, strict=True)
        for failure in one.failures
    ]
    unknown = list(_unknown(sound, prints, same))
    known = {
        name: None if isinstance(one, Unknown) else one for name, one in zip(_NAMES, prints, strict=True)
    }
    difference = same.difference
    return Verdict(
        validation_passed=not reasons,
        validation_mode=mode,
        reasons=reasons,
        footprint_compatibility=None if found is None else found.cells,
        directly_follows_similarity=None if found is None else found.directly_follows,
        behavioral_equivalence=same.equivalent,
        counterexample=None
        if difference is None
        else Counterexample(
            trace=list(difference.trace),
            only_in=_NAMES[0 if difference.first else 1],
            shortest=difference.shortest,
        ),
        differences=[] if found is None else list(found.differences),
        differing_cells=None if found is None else found.differing,
        activities=None if found is None else list(found.activities),
        start_activities={
            name: None if one is None else list(one.start_activities()) for name, one in known.items()
        },
        end_activities={
            name: None if one is None else list(one.end_activities()) for name, one in known.items()
        },
        sound={name: one.sound for name, one in zip(_NAMES, sound, strict=True)},
        anomalies=[
            *anomalies,
            *([] if found is None else _activities(found, prints)),
            *_reversals(reversed_ or ()),
        ],
        warnings=list(_warnings(old, new, found, same, prints)),
        conclusive=not unknown,
        inconclusive_because=unknown,
    )


def _check_or_gates(*studies: Study) -> None:
    """Report unsupported or-gates of both workflows at once."""
    problems = []
    what = ""
    for name, study in zip(_NAMES, studies, strict=True):
        if study.block is None:
            try:
                _ = study.space
            except WorkflowError as error:
                what = error.what
                problems += [(f"{name}.{one.path}", one.message) for one in error.problems]
    if problems:
        raise WorkflowError(problems, what)


def _incomplete(prints: Iterable[Footprint | Unknown], sound: Iterable[Soundness]) -> Iterable[str]:
    """Explain of each workflow without any visible activity why it cannot replace, or be replaced."""
    for name, one, judged in zip(_NAMES, prints, sound, strict=True):
        if isinstance(one, Unknown) or one.activities:
            continue
        if one.empty_trace:
            yield f"{name} shows no activity: every task that can happen is silent, so there is nothing to compare."
        else:
            why = f" {judged.failures[0].sentence}" if judged.failures else ""
            yield f"{name} never completes: no case reaches the output properly.{why}"


def _activities(found: Agreement, prints: tuple[Footprint | Unknown, ...]) -> list[Anomaly]:
    anomalies = [_changed("missing_activity", f"No complete case has '{one}'.") for one in found.missing]
    anomalies += [
        _changed("added_activity", f"It has '{one}'; the original does not.") for one in found.added
    ]
    ends: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
        (one.start_activities(), one.end_activities()) for one in prints if not isinstance(one, Unknown)
    ]
    for at, (kind, verb) in enumerate((("start_activities", "begin"), ("end_activities", "end"))):
        before, after = ends[0][at], ends[1][at]
        if before != after:
            message = (
                f"Cases {verb} with {_listed(after)}; in the original they {verb} with {_listed(before)}."
            )
            anomalies.append(_changed(kind, message))
    return anomalies


def _reversals(pairs: tuple[tuple[str, str], ...]) -> list[Anomaly]:
    kind = "reversed_order"
    found = [
        _changed(kind, f"'{after}' depends on '{before}', which came first, and can now precede it.")
        for before, after in pairs[:_MAX_REVERSALS]
    ]
    if len(pairs) > _MAX_REVERSALS:
        found.append(_changed(kind, f"And {len(pairs) - _MAX_REVERSALS} more pairs like these."))
    return found


def _changed(kind: str, message: str) -> Anomaly:
    return Anomaly(kind=kind, message=message, workflow=_NAMES[1])


def _reasons(
    mode: Mode,
    found: Agreement | None,
    same: Equivalence,
    sound: tuple[Soundness, Soundness],
    reversed_: tuple[tuple[str, str], ...] | None,
    *,
    judged: bool,
) -> Iterable[str]:
    yield from _traces(same) if mode == "strict" else _cells(mode, found, judged=judged)
    if mode == "balanced" and reversed_ is None:
        yield "Whether the order of dependent activities is kept is unknown."
    elif mode == "balanced" and reversed_:
        yield f"The order of {len(reversed_)} dependent pair{'s' * (len(reversed_) > 1)} can be reversed."
    if mode != "strict" or sound[0].sound:
        if sound[1].sound is None:
            yield f"Whether the optimised workflow is sound is unknown: {sound[1].problem}"
        elif not sound[1].sound:
            yield "The optimised workflow is not sound."


def _traces(same: Equivalence) -> Iterable[str]:
    if same.equivalent is None:
        yield f"Whether the traces are the same is unknown: {same.problem}"
    elif not same.equivalent:
        yield "The traces are not the same; the counterexample is a trace that only one of them has."


def _cells(mode: Mode, found: Agreement | None, *, judged: bool) -> Iterable[str]:
    if found is None:
        yield from ["How far the footprints agree is unknown."] if judged else []
        return
    least = BALANCED if mode == "balanced" else _LENIENT
    if found.cells < least:
        yield f"The footprints agree in {found.cells:.3f} of the cells; {least:g} are required."
    if mode == "lenient" and (found.missing or found.added):
        yield "The activities are not the same."


def _warnings(
    old: Study,
    new: Study,
    found: Agreement | None,
    same: Equivalence,
    prints: tuple[Footprint | Unknown, ...],
) -> Iterable[str]:
    undeclared = [
        task.id
        for task in old.net.tasks.values()
        if task.label is not None and (task.reads is None or task.writes is None)
    ]
    if undeclared:
        yield f"{_NAMES[0]}: {_listed(undeclared, 5)} declare no reads and writes, so everything counts as dependent on them."
    for name, study, one in zip(_NAMES, (old, new), prints, strict=True):
        if any(flow.predicate is not None for flow in study.net.flows):
            yield f"{name}: predicates are not evaluated; every way of a choice counts as possible."
        if not isinstance(one, Unknown) and one.empty_trace:
            yield f"{name}: a case can be complete with no visible activity."
        yield from (f"{name}: {note}" for note in study.net.notes)
    if found is not None and found.cells >= BALANCED and found.directly_follows < _FEW_NEIGHBOURS:
        yield (
            f"{found.cells:.3f} of the cells agree because most activities are unrelated; "
            f"only {found.directly_follows:.3f} of the direct neighbours are common."
        )
    if found is not None and not found.differing and same.equivalent is False:
        yield "The footprints are the same and the traces are not."


def _unknown(
    sound: Iterable[Soundness], prints: Iterable[Footprint | Unknown], same: Equivalence
) -> Iterable[str]:
    for name, judged in zip(_NAMES, sound, strict=True):
        if judged.sound is None:
            yield f"Soundness of {name}: {judged.problem}"
    for name, one in zip(_NAMES, prints, strict=True):
        if isinstance(one, Unknown):
            yield f"Footprint of {name}: {one.why}"
    if same.equivalent is None:
        yield f"Equivalence of traces: {same.problem}"


def _listed(names: Iterable[str], most: int = 10) -> str:
    return join((f"'{one}'" for one in names), limit=most) or "nothing"
