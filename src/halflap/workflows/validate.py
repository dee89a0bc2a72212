"""Whether one workflow may stand for another: by its footprint, its traces, its soundness, and the order of what depends on what.

strict: they have the same complete traces, and the new one is sound if the old one is. balanced: at least 0.8 of the
cells of the footprints agree, nothing that depends on something else can now come before it, and the new one is sound.
lenient: at least 0.5 of the cells, the same activities, and the new one is sound. What is not known passes in no mode that
needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from halflap.core.errors import UsageError, WorkflowError
from halflap.workflows.agreement import agreement
from halflap.workflows.dependence import reversals
from halflap.workflows.equivalence import equivalence
from halflap.workflows.footprint import Unknown, footprint
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.validation import NAMES, Anomaly, Mode, Validation

if TYPE_CHECKING:
    from halflap.workflows.agreement import Agreement
    from halflap.workflows.equivalence import Equivalence
    from halflap.workflows.footprint import Footprint
    from halflap.workflows.net import Bound, Net
    from halflap.workflows.soundness import Soundness

__all__ = ["validate_footprint"]

_BALANCED, _LENIENT = 0.8, 0.5
_FEW_NEIGHBOURS = 0.5
_MOST_DIFFERENCES = 1_000
_MOST_REVERSALS = 100


def validate_footprint(
    original: Net, optimized: Net, mode: Mode = "balanced", bound: Bound | None = None
) -> Validation:
    """Compare an optimised workflow with what it was made from."""
    if mode not in get_args(Mode):
        raise UsageError(f"There is no validation mode '{mode}'; there are {', '.join(get_args(Mode))}.")
    old, new = Study(original, bound), Study(optimized, bound)
    _understood(old, new)
    sound = (soundness(old), soundness(new))
    prints = (footprint(old), footprint(new))
    _not_empty(prints, sound)
    found = None
    if not isinstance(prints[0], Unknown) and not isinstance(prints[1], Unknown):
        found = agreement(prints[0], prints[1], _MOST_DIFFERENCES)
    same = equivalence(old, new)
    turned = reversals(old, new)
    anomalies = _unsound(sound)
    if found is not None:
        anomalies += _other_activities(found, prints)
    listed = () if isinstance(turned, Unknown) else turned
    anomalies += [
        Anomaly(
            "reversed_order",
            f"'{after}' depends on '{before}', which came before it, and now it can come first.",
            NAMES[1],
        )
        for before, after in listed[:_MOST_REVERSALS]
    ]
    if len(listed) > _MOST_REVERSALS:
        anomalies.append(
            Anomaly("reversed_order", f"And {len(listed) - _MOST_REVERSALS} more pairs like these.", NAMES[1])
        )
    reasons = _reasons(mode, found, same, sound, len(listed) if not isinstance(turned, Unknown) else None)
    return Validation(
        mode,
        not reasons,
        tuple(reasons),
        found,
        prints,
        same,
        sound,
        tuple(anomalies),
        tuple(_warnings(old, new, found, same, prints)),
        tuple(_unknown(sound, prints, same)),
    )


def _understood(old: Study, new: Study) -> None:
    """Look at the or-gates of both, so that all that is wrong with them is told at once."""
    problems = []
    what = ""
    for name, study in zip(NAMES, (old, new), strict=True):
        if study.tree is None:
            try:
                _ = study.space
            except WorkflowError as error:
                what = str(error).partition("\n")[0]
                problems += [(f"{name}.{one.path}", one.message) for one in error.problems]
    if problems:
        raise WorkflowError(problems, what)


def _not_empty(prints: tuple[Footprint | Unknown, ...], sound: tuple[Soundness, ...]) -> None:
    problems = []
    for name, one, judged in zip(NAMES, prints, sound, strict=True):
        if isinstance(one, Unknown) or one.activities:
            continue
        why = "None of its tasks has a label, so nothing is seen of any case."
        if not one.empty_trace:
            why = "No case of it can be completed."
            if judged.failures:
                first = judged.failures[0]
                after = f"After {', '.join(first.trace)}: " if first.trace else ""
                why += f" {after}{first.why}"
        problems.append((name, why))
    if problems:
        raise WorkflowError(problems, "A footprint that is empty can't be compared with.")


def _unsound(sound: tuple[Soundness, Soundness]) -> list[Anomaly]:
    return [
        Anomaly(failure.kind, failure.why, name, failure.trace)
        for name, one in zip(NAMES, sound, strict=True)
        for failure in one.failures
    ]


def _other_activities(found: Agreement, prints: tuple[Footprint | Unknown, ...]) -> list[Anomaly]:
    anomalies = [
        *(
            Anomaly("missing_activity", f"No complete case of it has '{one}'.", NAMES[1])
            for one in found.missing
        ),
        *(
            Anomaly("added_activity", f"It has '{one}', and the original has not.", NAMES[1])
            for one in found.added
        ),
    ]
    old, new = prints
    if isinstance(old, Unknown) or isinstance(new, Unknown):
        return anomalies
    for kind, before, after in (
        ("start_activities", old.start_activities(), new.start_activities()),
        ("end_activities", old.end_activities(), new.end_activities()),
    ):
        if before != after:
            verb = "begins" if kind == "start_activities" else "ends"
            anomalies.append(
                Anomaly(
                    kind,
                    f"A case {verb} with {_listed(after)}; in the original it {verb} with {_listed(before)}.",
                    NAMES[1],
                )
            )
    return anomalies


def _reasons(
    mode: Mode,
    found: Agreement | None,
    same: Equivalence,
    sound: tuple[Soundness, Soundness],
    turned: int | None,
) -> list[str]:
    """Say what keeps it from passing."""
    reasons = _other_traces(same) if mode == "strict" else _too_far(mode, found)
    if mode == "balanced" and turned is None:
        reasons.append("Whether the order of what depends on each other is kept is not known.")
    elif mode == "balanced" and turned:
        pairs = "1 pair" if turned == 1 else f"{turned} pairs"
        reasons.append(f"The order of {pairs} that depend on each other can be reversed.")
    if mode != "strict" or sound[0].sound:
        if sound[1].sound is None:
            reasons.append(f"Whether the optimised workflow is sound is not known: {sound[1].problem}")
        elif not sound[1].sound:
            reasons.append("The optimised workflow is not sound.")
    return reasons


def _other_traces(same: Equivalence) -> list[str]:
    if same.equivalent is None:
        return [f"Whether the traces are the same is not known: {same.problem}"]
    if same.equivalent:
        return []
    return ["The traces are not the same; the counterexample is one that only one of the two has."]


def _too_far(mode: Mode, found: Agreement | None) -> list[str]:
    if found is None:
        return ["How far the footprints agree is not known."]
    least = _BALANCED if mode == "balanced" else _LENIENT
    reasons = []
    if found.cells < least:
        reasons.append(f"The footprints agree in {found.cells:.3f} of the cells; {least:g} are needed.")
    if mode == "lenient" and (found.missing or found.added):
        reasons.append("The activities are not the same.")
    return reasons


def _warnings(
    old: Study,
    new: Study,
    found: Agreement | None,
    same: Equivalence,
    prints: tuple[Footprint | Unknown, ...],
) -> list[str]:
    warnings = []
    silent = [
        task.id
        for task in old.net.tasks.values()
        if task.label is not None and (task.reads is None or task.writes is None)
    ]
    if silent:
        warnings.append(
            f"{NAMES[0]}: what {_listed(silent, 5)} {'reads and writes' if len(silent) == 1 else 'read and write'} is not said, so everything counts as depending on it."
        )
    for name, study, one in zip(NAMES, (old, new), prints, strict=True):
        if any(flow.predicate is not None for flow in study.net.flows):
            warnings.append(
                f"{name}: predicates are not evaluated; every way of a choice counts as possible."
            )
        if not isinstance(one, Unknown) and one.empty_trace:
            warnings.append(f"{name}: a case can be complete with nothing to be seen of it.")
        warnings += [f"{name}: {note}" for note in study.net.notes]
    if found is not None and found.cells >= _BALANCED and found.directly_follows < _FEW_NEIGHBOURS:
        warnings.append(
            f"Agreement by cells is {found.cells:.3f} because most activities have nothing to do with each other; of the pairs that follow each other directly, only {found.directly_follows:.3f} are in both."
        )
    if found is not None and not found.differing and same.equivalent is False:
        warnings.append("The footprints are the same and the traces are not.")
    return warnings


def _unknown(
    sound: tuple[Soundness, ...], prints: tuple[Footprint | Unknown, ...], same: Equivalence
) -> list[str]:
    found = [
        f"Soundness of {name}: {one.problem}"
        for name, one in zip(NAMES, sound, strict=True)
        if one.sound is None
    ]
    found += [
        f"Footprint of {name}: {one.why}"
        for name, one in zip(NAMES, prints, strict=True)
        if isinstance(one, Unknown)
    ]
    if same.equivalent is None:
        found.append(f"Equivalence of traces: {same.problem}")
    return found


def _listed(names: tuple[str, ...] | list[str], most: int = 10) -> str:
    shown = ", ".join(f"'{one}'" for one in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "nothing"
