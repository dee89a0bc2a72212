"""Export and import of what was learned: every part keeps its origin, and what is read is untrusted."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.errors import ShapeBrokenError, ShapeError, ShapeTooNewError
from halflap.core.text import visible
from halflap.graph.lineage import Lineage
from halflap.learn import Learned
from halflap.observe.known import IMPORTED, known_of
from halflap.store import ToolKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.store import StoredShape

__all__ = ["Imported", "exported", "read_export"]

FORMAT = "halflap-learned"
VERSION = 1
_ORIGIN = re.compile(r"[0-9a-f]{32}/[0-9a-f]{16}")
_NAMES = ("server", "tool", "definitionHash")
_ANEW = "Nothing was imported; export it again."
_LONGEST_NAME = 1_000
_MOST_ENTRIES = 100_000


class Imported(NamedTuple):
    """What a file brought."""

    shapes: Mapping[str, Mapping[ToolKey, Learned]]
    """By the origin under which it is kept here."""
    own: int
    """How many parts of it came from this installation in the first place, and are left out."""
    lineage: Mapping[str, Lineage]
    """Where values were seen to go, likewise."""
    new: int = 0
    """How many results it rests on that were not known of here."""


def exported(
    rows: Iterable[StoredShape],
    installation: str,
    at: str | None,
    lineage: Mapping[str, Lineage] | None = None,
    *,
    values: bool = False,
) -> dict[str, Any]:
    """Write what was learned. Every part keeps its origin, so that it is never counted twice.

    Values are included only with `values`.
    """
    written: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "installation": installation,
        "exportedAt": at,
        "values": values,
        "learned": [
            {
                "server": row.server,
                "tool": row.tool,
                "definitionHash": row.definition_hash,
                "origin": _abroad(row.origin, installation),
                "shapes": (row.learned if values else row.learned.without_values()).to_json(),
            }
            for row in rows
        ],
    }
    if lineage:
        written["lineage"] = [
            {"origin": _abroad(origin, installation), "flows": one.to_json()}
            for origin, one in lineage.items()
        ]
    return written


def _abroad(origin: str, installation: str) -> str:
    """Return a name for an origin that is unique everywhere and says nothing: ours may be file paths."""
    if origin.startswith(IMPORTED):
        return origin.removeprefix(IMPORTED)
    return f"{installation}/{sha256(origin.encode(errors='surrogatepass')).hexdigest()[:16]}"


def read_export(data: Any, installation: str, *, values: bool = False) -> Imported:
    """Read what another gateway wrote: all of it is well-formed and within bounds, or none of it is used.

    It is kept apart by origin. Without `values`, or where the file does not say that it has any, they are left out.
    """
    entries, has_values = _opened(data)
    found: dict[str, dict[ToolKey, Learned]] = {}
    own = 0
    for number, entry in enumerate(entries):
        origin, key = _named(entry, number)
        try:
            learned = Learned.from_json(entry["shapes"])
            # What cannot be shown would otherwise be noticed only when it is asked for.
            known_of(key, learned)
        except ShapeTooNewError:
            raise
        except (ShapeError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            named = visible(f"{key.server}.{key.tool}", _LONGEST_NAME)
            raise ShapeBrokenError(
                f"Entry {number} of what was learned, {named}, is damaged: {error} {_ANEW}"
            ) from error
        if origin.startswith(f"{installation}/"):
            own += 1
            continue
        kept = found.setdefault(f"{IMPORTED}{origin}", {})
        if key in kept:
            raise ShapeBrokenError(f"Entry {number} is there twice. {_ANEW}")
        kept[key] = learned if values and has_values else learned.without_values()
    lineage, more = _lineage(data.get("lineage", []), installation)
    return Imported(found, own + more, lineage)


def _opened(data: Any) -> tuple[list[Any], bool]:
    """Return the entries of a file, and whether it says that it has values."""
    if not isinstance(data, dict) or data.get("format") != FORMAT or type(data.get("version")) is not int:
        raise ShapeBrokenError("This is nothing that was learned. Take it from `halflap schema export`.")
    if data["version"] > VERSION:
        raise ShapeTooNewError(
            f"This was exported by a newer Halflap (its version is {data['version']}, this one reads up to "
            f"{VERSION}). Update Halflap to use it."
        )
    if data["version"] < 1:
        raise ShapeBrokenError(f"There is no version {data['version']} of exports. {_ANEW}")
    entries = data.get("learned")
    if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
        raise ShapeBrokenError(f"What was learned is no list, or too long a one. {_ANEW}")
    has_values = data.get("values", False)
    if type(has_values) is not bool:
        raise ShapeBrokenError(f"`values` is neither true nor false. {_ANEW}")
    return entries, has_values


def _lineage(entries: Any, installation: str) -> tuple[dict[str, Lineage], int]:
    """Read lineage; older exports have none."""
    found: dict[str, Lineage] = {}
    own = 0
    try:
        if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
            raise ValueError("it is no list, or too long a one.")  # noqa: TRY301 -- told like all else
        for entry in entries:
            origin, flows = _origin(entry["origin"]), entry["flows"]
            if not isinstance(flows, list) or len(flows) > _MOST_ENTRIES:
                raise ValueError("its flows are no list, or too long a one.")  # noqa: TRY301 -- as above
            read = Lineage.from_json(flows).named(_key)
            if any(max(len(flow.source_path), len(flow.target_path)) > _LONGEST_NAME for flow in read.counts):
                raise ValueError("a path is too long.")  # noqa: TRY301 -- as above
            if origin.startswith(f"{installation}/"):
                own += 1
            elif f"{IMPORTED}{origin}" in found:
                raise ValueError("an origin is there twice.")  # noqa: TRY301 -- as above
            else:
                found[f"{IMPORTED}{origin}"] = read
    except (TypeError, ValueError, LookupError) as error:
        raise ShapeBrokenError(f"Where values went is damaged: {error} {_ANEW}") from error
    return found, own


def _key(tool: Any) -> ToolKey:
    server, name, definition = tool if isinstance(tool, tuple) else ()
    return ToolKey(_name(server), _name(name), _name(definition))


def _named(entry: Any, number: int) -> tuple[str, ToolKey]:
    """Return an entry's origin, and what it is about."""

    def refused(what: str) -> ShapeBrokenError:
        return ShapeBrokenError(f"Entry {number} of what was learned is damaged: {what}. {_ANEW}")

    if not isinstance(entry, dict):
        raise refused("it is no object")
    for name in (*_NAMES, "origin", "shapes"):
        if name not in entry:
            raise refused(f"it has no `{name}`")
    for name in (*_NAMES, "origin"):
        value = entry[name]
        if not isinstance(value, str) or len(value) > _LONGEST_NAME:
            raise refused(f"`{name}` is no text, or too long a one")
    if not entry["server"] or not entry["tool"]:
        raise refused("`server` or `tool` is empty")
    if not _ORIGIN.fullmatch(entry["origin"]):
        raise refused("`origin` is none")
    return entry["origin"], ToolKey(*(entry[name] for name in _NAMES))


def _origin(value: Any) -> str:
    origin = _name(value)
    if not _ORIGIN.fullmatch(origin):
        raise ValueError("its origin is none.")
    return origin


def _name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        raise TypeError("a name is no text, or too long.")
    return value
