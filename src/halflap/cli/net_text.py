"""What was found of workflows, for people: whether one is sound, its footprint, what differs between two."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.cli.output import data_console, visible
from halflap.workflows.analysis.study import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.workflows.analysis.footprint import Footprint
    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.answers import Verdict

__all__ = [
    "comparison",
    "footprint_lines",
    "optimized_lines",
    "score_lines",
    "shown",
    "soundness_lines",
    "width",
]

_MOST = 30
"""Up to this many activities are shown as a matrix; with more, each with its relations."""
_LONGEST = 28
_LONGEST_ID = 5_000
"""No label is longer, even if all of it is escaped."""
_MOST_NAMED = 100
"""Activities listed after each sign."""
_NARROW = 40
_MOST_CELLS = 20
_GAP = 2
_SIGNS = ("→", "←", "||")
_PARETO = {"expected_makespan": "time", "expected_cost": "cost", "size": "size"}


def width() -> int:
    """Return the width of the output; unlimited in a pipe."""
    return data_console().width if sys.stdout.isatty() else sys.maxsize


def soundness_lines(judged: Soundness) -> Iterator[str]:
    """Describe whether a workflow is sound, with a trace to each failure."""
    if judged.sound is None:
        yield f"Whether it is sound is not known: {judged.problem}"
    elif judged.sound:
        how = "it is made of blocks" if judged.method == "blocks" else "all its states were looked at"
        yield f"It is sound: {how}."
    else:
        yield "It is not sound."
    for one in judged.failures:
        yield f"  [{one.kind}] {shown(one.why, 2_000)}"
        trace = ", ".join(map(shown, one.trace)) or "nothing yet: it is so from the start"
        yield f"    shown by: {trace}"


def footprint_lines(found: Footprint | Unknown, wide: int) -> Iterator[str]:
    """Show a footprint: as a matrix where that is readable, in parts side by side if it has to be, else as a list."""
    if isinstance(found, Unknown):
        yield f"Its footprint is not known: {found.why}"
        return
    if not found.activities:
        yield "Its footprint is empty."
        return
    yield f"begins with {_names(found.start_activities())}; ends with {_names(found.end_activities())}"
    if len(found.activities) > _MOST or wide < _NARROW:
        yield from _list(found)
    else:
        yield from _matrix(found, wide)


def _matrix(found: Footprint, wide: int) -> Iterator[str]:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 -- only drawn output needs it

    names = [shown(name, _LONGEST_ID) for name in found.activities]
    digits = len(str(len(names)))
    label = max(map(cell_len, names))
    if label > min(_LONGEST, max(wide // 3, 8)):
        # Names that are cut may all look the same: they stand in full above, and the rows have their numbers.
        yield ""
        yield from (f"{at:>{digits}} {name}" for at, name in enumerate(names, 1))
        names, label = [""] * len(names), 0
    cell = max(2, digits)
    lead = digits + 1 + label
    fit = max(1, (wide - lead) // (cell + _GAP)) if wide < sys.maxsize else len(names)
    rows = found.matrix()
    for begin in range(0, len(names), fit):
        part = range(begin, min(begin + fit, len(names)))
        yield ""
        yield (" " * lead + "".join(f"  {at + 1:<{cell}}" for at in part)).rstrip()
        for at, name in enumerate(names):
            cells = "".join(" " * _GAP + rows[at][column].ljust(cell) for column in part)
            yield f"{at + 1:>{digits}} {set_cell_size(name, label)}{cells}".rstrip()
    yield ""
    yield "→ is directly followed by, ← follows directly, || both, # neither"


def _list(found: Footprint) -> Iterator[str]:
    for name, forth, back in zip(found.activities, found.follows, found.precedes(), strict=True):
        yield ""
        yield shown(name, _LONGEST_ID)
        for sign, bits in zip(_SIGNS, (forth & ~back, back & ~forth, forth & back), strict=True):
            if bits:
                first = ", ".join(
                    shown(other, _LONGEST_ID) for other in islice(found.named(bits), _MOST_NAMED)
                )
                more = bits.bit_count() - _MOST_NAMED
                yield f"  {sign} {first}{f' and {more} more' if more > 0 else ''}"
    yield ""
    yield "→ is directly followed by, ← follows directly, || both; all others: neither"


def comparison(found: Verdict) -> Iterator[str]:
    """Describe the verdict on two workflows."""
    told = found.response()
    yield f"{'Passed' if found.passed else 'Not passed'} ({found.validation_mode})."
    yield from (f"  {reason}" for reason in found.reasons)
    same = told["behavioral_equivalence"]
    yield {True: "The traces are the same.", False: "The traces are not the same.", None: "Whether the traces are the same is not known."}[same]  # fmt: skip
    example = told["counterexample"]
    if example is not None:
        trace = _names(example["trace"]) if example["trace"] else "the empty trace"
        which = "first" if example["only_in"] == "original_workflow" else "second"
        yield f"  only the {which} has: {trace}"
    if found.differing_cells is not None:
        cells, pairs = told["footprint_compatibility"], told["directly_follows_similarity"]
        yield f"The footprints agree in {cells:.3f} of the cells; {pairs:.3f} of the neighbours are common."
        for one in told["differences"][:_MOST_CELLS]:
            yield f"  {shown(one['row'])}, {shown(one['column'])}: {one['original']} became {one['optimized']}"
        more = told["differing_cells"] - min(len(told["differences"]), _MOST_CELLS)
        if more > 0:
            yield f"  and {more} more cells; --json has them."
    for one in found.anomalies:
        which = {"original_workflow": "first: ", "optimized_workflow": "second: "}.get(one.workflow or "", "")
        yield f"[{one.kind}] {which}{shown(one.message, 2_000)}"
        if one.trace:
            yield f"    shown by: {_names(one.trace)}"
    yield from (f"Note: {shown(warning, 2_000)}" for warning in found.warnings)
    yield from (f"Not known: {shown(why, 2_000)}" for why in found.inconclusive_because)


def score_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Describe the scores, each with what it was computed from."""
    raw = told["raw"]
    yield f"total  {told['total_score']:.3f}"
    for name, value in told["dimension_scores"].items():
        weight = told["weights"][name]
        yield f"  {name}  {_number(value)}  (weight {weight:.2f})"
        parts = raw[name]
        if name == "compliance":
            yield f"    sound: {_number(parts['sound'])}"
            yield from _rule_lines(parts["rules"])
            continue
        for key, one in parts.items():
            if isinstance(one, dict):
                yield f"    {key}  {_number(one['raw'])}  → {_number(one['score'])}"
            elif one not in (None, []):
                yield f"    {key}  {_number(one)}"
    for name, value in told["pattern_scores"].items():
        yield f"  pattern {name}  {_number(value)}"
    for one in told["recommendations"]:
        yield f"- {shown(one['change'], 2_000)}"
        yield f"    {shown(one['why'], 2_000)}"
    yield from (f"Not known: {shown(why, 2_000)}" for why in told["inconclusive_because"])


def _rule_lines(rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for rule in rules:
        holds = {True: "holds", False: "does not hold", None: "not known"}[rule["holds"]]
        yield f"    {rule['kind']} {_names(rule['tasks'])}: {holds}"
        if rule["message"] and rule["holds"] is not True:
            yield f"      {shown(rule['message'], 2_000)}"
        if rule["trace"] is not None:
            yield f"      shown by: {_names(rule['trace']) if rule['trace'] else 'a case that has no task'}"


def optimized_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Describe each step of an optimisation, and its result."""
    if not told["changed"]:
        yield "Nothing better was found: it stays as it is."
    for number, one in enumerate(told["transformations"], 1):
        gains = ", ".join(
            f"{name.removeprefix('expected_')} {'+' if (name == 'total_score') == (gain > 0) else '-'}{abs(gain):.4g}"
            for name, gain in one["gain"].items()
            if gain
        )
        keeps = "" if one["keeps_traces"] else "; the traces change"
        yield f"{number}. {shown(one['description'], 2_000)} ({gains or 'no gain by itself'}{keeps})"
    before, after = told["metrics"]["before"], told["metrics"]["after"]
    for name, value in before.items():
        if value is not None and value != after[name]:
            yield f"{name}: {_number(value)} → {_number(after[name])}"
    verdict = told["validation"]
    agree = verdict["footprint_compatibility"]
    same = {True: "the same traces", False: "other traces", None: "traces that could not be compared"}
    shared = "" if agree is None else f", {agree:.3f} of the footprint agrees"
    yield f"It has {same[verdict['behavioral_equivalence']]}{shared}."
    others = [one for one in told["pareto_front"] if not one["chosen"]]
    better = [word for key, word in _PARETO.items() if any(_less(one[key], after[key]) for one in others)]
    if better:
        are = "1 more is" if len(others) == 1 else f"{len(others)} more are"
        yield f"{are} better in {' or '.join(better)}; --json has {'it' if len(others) == 1 else 'them'}."
    yield f"Looked for by {told['engine']}, seed {told['seed']}, {told['evaluations']} measured."
    yield from (f"Note: {shown(one, 2_000)}" for one in told["notes"])


def _less(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one < other


def shown(text: str, longest: int = 200) -> str:
    """Show a name, or a sentence with names in it, in one line: what cannot be seen, line breaks too, is escaped and not cut off."""
    told = visible(text)
    return told if len(told) <= longest else f"{told[: longest - 1]}…"


def _number(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return _names(value)
    return f"{value:.4g}" if isinstance(value, float) else shown(str(value))


def _names(names: Sequence[str], most: int = 20) -> str:
    first = ", ".join(shown(one, 80) for one in names[:most])
    return f"{first} and {len(names) - most} more" if len(names) > most else first or "nothing"
