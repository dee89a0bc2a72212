"""What `inspect_tool` tells of what was learned: beside what is declared, never in its place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.store import LIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.observe.known import Known
    from halflap.store import Breach, DriftEvent

__all__ = ["drift_told", "iso", "observed_told", "use_of"]

_MOST_DRIFT = 10
_LONGEST = 300


def iso(seconds: float | None) -> str | None:
    """Write a time."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def observed_told(known: Known) -> dict[str, Any]:
    """Give the schema, and on what it rests."""
    return {
        "observedSchema": _observed(known.told),
        "observations": known.observations,
        "confidence": round(known.confidence, 4),
        "lastObserved": iso(known.last),
    }


def _observed(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is told beside it; where something was cut off stays."""
    cut = schema["x-halflap"].get("cut")
    bare = {key: part for key, part in schema.items() if key != "x-halflap"}
    return bare if cut is None else {**bare, "x-halflap": {"cut": cut}}


def use_of(known: Known) -> str:
    """Say in a note that it is to be used, and how sure it is."""
    results = "1 result" if known.observations == 1 else f"{known.observations:,} results"
    texts = f", {known.texts:,} of them plain text" if 0 < known.texts < known.observations else ""
    told = f"Use observedSchema: it is the value in a program, as learned from {results}{texts}. "
    if known.has_media:
        told += (
            "What has the type image, audio, resource or resource_link in it is no dict there, but an object with "
            ".kind, .mime_type, .uri, .text and .data. "
        )
    if known.told is not known.schema:
        told += "It is very large: where x-halflap says cut, there is more below that was seen. "
    if known.confidence > 0:
        # Rounded down: it is a lower bound.
        return told + f"The next result fits it with a chance of at least {int(known.confidence * 100)} %."
    return told + "They are too few, or too much alike, to say how sure that is: look at the value, too."


def drift_told(events: Sequence[DriftEvent], breaches: Sequence[Breach]) -> list[dict[str, Any]]:
    """List what changed, and what breaks the declaration, the newest first; a few of each."""
    newest = sorted(breaches, key=lambda one: -one.last_at)
    told: list[dict[str, Any]] = [
        {
            "what": event.what,
            "path": event.path[:_LONGEST],
            "before": event.before[:_LONGEST],
            "now": event.now[:_LONGEST],
            # Logs are of any age, and in no order.
            "since": iso(event.at) if event.origin == LIVE else None,
            **_from(event),
        }
        for event in events[:_MOST_DRIFT]
    ]
    told += [
        {
            "what": "breaks-declared-schema",
            "path": breach.path[:_LONGEST],
            "before": breach.expected[:_LONGEST],
            "times": breach.times,
            "since": iso(breach.first_at),
            **_from(breach),
        }
        for breach in newest[:_MOST_DRIFT]
    ]
    return told


def _from(told: DriftEvent | Breach) -> dict[str, Any]:
    return {} if told.origin == LIVE else {"origin": told.origin}
