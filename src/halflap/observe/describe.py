"""What was learned, in the form that `inspect_tool`, `doctor` and the commands show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from halflap.core.text import iso

if TYPE_CHECKING:
    from halflap.observe.known import Known
    from halflap.store import Breach, DriftEvent

_MAX_DRIFT = 10
_MAX_TEXT = 300


def observed_json(known: Known) -> dict[str, Any]:
    """Return the learned schema and its evidence."""
    schema = {key: part for key, part in known.shown.items() if key != "x-halflap"}
    cut = known.shown["x-halflap"].get("cut")
    if cut is not None:
        schema["x-halflap"] = {"cut": cut}
    return {
        "observedSchema": schema,
        "observations": known.observations,
        "confidence": round(known.confidence, 4),
        "lastObserved": iso(known.learned.results.last),
    }


def usage_note(known: Known) -> str:
    """Return how to use the learned schema, and how far to rely on it."""
    results = "1 result" if known.observations == 1 else f"{known.observations:,} results"
    texts = known.learned.texts
    plain = f", {texts:,} of them plain text" if 0 < texts < known.observations else ""
    note = f"Use observedSchema: it is the value in a program, as learned from {results}{plain}. "
    if known.has_media:
        note += (
            "A block of type image, audio, resource or resource_link is not a dict in a program, but an object with "
            ".kind, .mime_type, .uri, .text and .data. "
        )
    if known.shown is not known.schema:
        note += "It is very large: x-halflap has cut where deeper levels were left out. "
    if known.confidence > 0:
        # Rounded down: it is a lower bound.
        return (
            note
            + f"The next result matches it with a probability of at least {int(known.confidence * 100)} %."
        )
    return note + "There were too few results to be sure, so look at the value as well."


def drift_json(events: Sequence[DriftEvent], breaches: Sequence[Breach]) -> list[dict[str, Any]]:
    """List drift and results that broke the declared schema, newest first, a few of each."""
    newest = sorted(breaches, key=lambda one: -one.last_at)
    found: list[dict[str, Any]] = [
        {
            "what": event.what,
            "path": event.path[:_MAX_TEXT],
            "before": event.before[:_MAX_TEXT],
            "now": event.now[:_MAX_TEXT],
            "since": iso(event.at),
        }
        for event in events[:_MAX_DRIFT]
    ]
    found += [
        {
            "what": "breaks-declared-schema",
            "path": breach.path[:_MAX_TEXT],
            "before": breach.expected[:_MAX_TEXT],
            "times": breach.times,
            "since": iso(breach.first_at),
        }
        for breach in newest[:_MAX_DRIFT]
    ]
    return found
