"""What was learned, as `inspect_tool`, `doctor` and the commands show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halflap.core.text import iso

if TYPE_CHECKING:
    from halflap.observe.known import Known
    from halflap.store import Breach, DriftEvent

_MAX_DRIFT = 10
_MAX_TEXT = 300
_MEDIA_KEYS = ("type", "mimeType", "uri", "name")


def observed_json(known: Known) -> dict[str, Any]:
    """Return the learned schema and what it rests on."""
    schema = {key: part for key, part in known.shown.items() if key != "x-halflap"}
    cut = known.shown["x-halflap"].get("cut")
    if cut is not None:
        schema["x-halflap"] = {"cut": cut}
    return {
        "observedSchema": schema,
        "observations": known.observations,
        "confidence": round(known.confidence, 4),
        "lastObserved": iso(known.last),
    }


def usage_note(known: Known) -> str:
    """Return how to use the learned schema, and how far to rely on it."""
    results = "1 result" if known.observations == 1 else f"{known.observations:,} results"
    texts = f", {known.texts:,} of them plain text" if 0 < known.texts < known.observations else ""
    note = f"Use observedSchema: it is the value in a program, as learned from {results}{texts}. "
    if known.has_media:
        note += (
            "What has the type image, audio, resource or resource_link in it is no dict there, but an object with "
            ".kind, .mime_type, .uri, .text and .data. "
        )
    if known.shown is not known.schema:
        note += "It is very large: where x-halflap says cut, there is more below that was seen. "
    if known.confidence > 0:
        # Rounded down: it is a lower bound.
        return note + f"The next result fits it with a chance of at least {int(known.confidence * 100)} %."
    return note + "Too few results to be sure: look at the value, too."


def drift_json(events: Sequence[DriftEvent], breaches: Sequence[Breach]) -> list[dict[str, Any]]:
    """List what changed and what breaks the declared schema, newest first, a few of each."""
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


def without_data(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a block that is not text says about itself, without its content."""
    resource = block.get("resource")
    source = {**resource, "type": block.get("type")} if isinstance(resource, dict) else block
    return {key: source[key] for key in _MEDIA_KEYS if source.get(key) is not None}
