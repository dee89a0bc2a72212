"""What is said of a workflow that was run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from halflap.cli.output import harmless, note, one_line, print_json
from halflap.sandbox.run.report import calls_made

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.sandbox import Execution
    from halflap.workflows.run.journal import Journal

__all__ = ["fails_again", "tell_run"]

_RAISED = re.compile(r"^(?:RuntimeError|ValueError): (.*)", re.MULTILINE | re.DOTALL)


def fails_again(execution: Execution, journal: Journal) -> bool:
    """Return whether resuming would certainly fail in the same way."""
    done = _said(execution)
    return not execution.ok and (journal.fails_again or (done is not None and bool(done["fails_again"])))


def tell_run(
    execution: Execution,
    journal: Journal,
    results: Mapping[str, Any],
    items: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    """Return lines with what the tasks returned; of a failed run, which tasks were done and which was not.

    `items` is what became of each, of tasks that are done for many and were not for all.
    """
    done = _said(execution)
    if done is None:
        # It was ended before it could say anything.
        done = {"failed": None, "trace": journal.ended, "results": results}
    lasting = fails_again(execution, journal)
    if as_json:
        print_json(
            {
                "run": execution.run,
                "resume": execution.run if journal.can_resume and not execution.ok and not lasting else None,
                "outcome": execution.outcome,
                "code": execution.code,
                "error": _reason(execution.error) or None,
                **done,
                "fails_again": lasting,
                "under_way": journal.under_way,
                "items": items,
                "recalled": journal.recalled,
                "changed": journal.changed,
                "duration_ms": round(execution.duration_ms, 1),
                "sandbox": execution.sandbox,
            }
        )
        return
    _tell_of_before(journal)
    if execution.ok:
        print_json(done["results"])
        note(f"Done: {', '.join(map(one_line, done['trace']))}. It took {execution.duration_ms:,.0f} ms.")
        return
    note(f"Error [{execution.code}]:")
    note(harmless(_reason(execution.error)))
    for line in calls_made(execution.calls):
        note(line)


def _tell_of_before(journal: Journal) -> None:
    count = journal.recalled
    if count:
        calls, they = ("call was", "it") if count == 1 else ("calls were", "they")
        note(f"{count} {calls} not made again: what {they} returned is known.")
    for task in journal.changed:
        note(f"'{one_line(task)}' was done again: its arguments are others than before.")


def _said(execution: Execution) -> dict[str, Any] | None:
    """Read what the program printed, if it came to that."""
    if execution.outcome not in {"ok", "failed"}:
        return None
    try:
        done: dict[str, Any] = json.loads(execution.output)
    except ValueError:
        return None
    return done


def _reason(error: str) -> str:
    """Take the program's own lines out of an error, which are not the person's."""
    found = _RAISED.search(error)
    return error if found is None else found[1].rstrip()
