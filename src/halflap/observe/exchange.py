"""Export and import what was learned. Every part keeps its origin; an imported file is untrusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from halflap.core.errors import ShapeError, ShapeTooNewError
from halflap.core.text import visible
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned
from halflap.store import ToolKey

if TYPE_CHECKING:
    from halflap.store import StoredShape

IMPORTED = "import:"
"""Prefix of the origins that came from other gateways."""
FORMAT = "halflap-learned"
VERSION = 1
_MAX_NAME = 1_000
_MAX_ENTRIES = 100_000
_MAX_COUNT = 1 << 53
"""What every database and every reader of JSON can represent."""
_NOTHING_IMPORTED = "Nothing was imported; export it again."

_Name = Annotated[str, StringConstraints(strict=True, max_length=_MAX_NAME)]
_Required = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=_MAX_NAME)]
_Origin = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{32}/[0-9a-f]{16}$")]
_Tool = tuple[_Required, _Required, _Name]
_Count = Annotated[int, Field(strict=True, ge=0, lt=_MAX_COUNT)]
_Flow = tuple[_Tool, _Name, _Tool, _Name, _Count, _Count]


class _Learned(BaseModel):
    server: _Required
    tool: _Required
    definitionHash: _Name  # noqa: N815 -- the key in the file
    origin: _Origin
    shapes: Any


class _Flows(BaseModel):
    origin: _Origin
    flows: Annotated[list[_Flow], Field(max_length=_MAX_ENTRIES)]


class _Header(BaseModel):
    format: Literal["halflap-learned"]
    version: Annotated[int, Field(strict=True, ge=1)]


class _Export(_Header):
    values: Annotated[bool, Field(strict=True)] = False
    learned: Annotated[list[_Learned], Field(max_length=_MAX_ENTRIES)]
    lineage: Annotated[list[_Flows], Field(max_length=_MAX_ENTRIES)] = []


class Imported(NamedTuple):
    """The contents of a file."""

    shapes: Mapping[str, Mapping[ToolKey, Learned]]
    """By the origin under which they are stored here."""
    own: int
    """Parts that originally came from this installation, and are left out."""
    lineage: Mapping[str, Lineage]
    """By origin."""
    new: int = 0
    """Results that were not known here."""


def exported(
    rows: Iterable[StoredShape],
    installation: str,
    at: str | None,
    lineage: Mapping[str, Lineage] | None = None,
    *,
    values: bool = False,
) -> dict[str, Any]:
    """Return the contents of an export file. Values are included only with `values`."""
    data: dict[str, Any] = {
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
                "origin": _public_origin(row.origin, installation),
                "shapes": (row.learned if values else row.learned.without_values()).to_json(),
            }
            for row in rows
        ],
    }
    if lineage:
        data["lineage"] = [
            {
                "origin": _public_origin(origin, installation),
                "flows": [
                    [[*flow.source], flow.source_path, [*flow.target], flow.target_path, *count]
                    for flow, count in sorted(one.counts.items())
                ],
            }
            for origin, one in lineage.items()
        ]
    return data


def _public_origin(origin: str, installation: str) -> str:
    """Return a globally unique name for an origin that reveals nothing: ours may contain file paths."""
    if origin.startswith(IMPORTED):
        return origin.removeprefix(IMPORTED)
    return f"{installation}/{sha256(origin.encode(errors='surrogatepass')).hexdigest()[:16]}"


def read_export(data: Any, installation: str, *, values: bool = False) -> Imported:
    """Read what another gateway exported, or raise if any of it is invalid.

    Values are left out without `values`, and if the file was exported without them.
    """
    file = _validated(data)
    shapes: dict[str, dict[ToolKey, Learned]] = {}
    for entry in file.learned:
        key, learned = _read_shapes(entry)
        known = shapes.setdefault(entry.origin, {})
        if key in known:
            raise ShapeError(f"The export has an entry twice. {_NOTHING_IMPORTED}")
        known[key] = learned if values and file.values else learned.without_values()
    lineage = {one.origin: _read_flows(one) for one in file.lineage}
    if len(lineage) < len(file.lineage):
        raise ShapeError(f"The export has an origin twice. {_NOTHING_IMPORTED}")
    own = f"{installation}/"
    return Imported(
        {f"{IMPORTED}{origin}": one for origin, one in shapes.items() if not origin.startswith(own)},
        sum(origin.startswith(own) for origin in (*(one.origin for one in file.learned), *lineage)),
        {f"{IMPORTED}{origin}": one for origin, one in lineage.items() if not origin.startswith(own)},
    )


def _validated(data: Any) -> _Export:
    try:
        version = _Header.model_validate(data).version
        if version > VERSION:
            raise ShapeTooNewError(
                f"This was exported by a newer Halflap (its version is {version}, this one reads up to {VERSION}). "
                f"Update Halflap to use it."
            )
        return _Export.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        damage = f", or it is damaged: {where}: {visible(first['msg'], _MAX_NAME)}" if where else ""
        message = f"This is not an export of `halflap schema export`{damage}. {_NOTHING_IMPORTED}"
        raise ShapeError(message) from error


def _read_shapes(entry: _Learned) -> tuple[ToolKey, Learned]:
    key = ToolKey(entry.server, entry.tool, entry.definitionHash)
    try:
        return key, Learned.from_json(entry.shapes)
    except ShapeTooNewError:
        raise
    except ShapeError as error:
        name = visible(f"{key.server}.{key.tool}", _MAX_NAME)
        raise ShapeError(f"What was learned of {name} is damaged: {error} {_NOTHING_IMPORTED}") from error


def _read_flows(entry: _Flows) -> Lineage:
    counts = {
        Flow(ToolKey(*source), source_path, ToolKey(*target), target_path): Count(times, runs)
        for source, source_path, target, target_path, times, runs in entry.flows
    }
    if len(counts) < len(entry.flows) or any(not count.runs <= count.times > 0 for count in counts.values()):
        raise ShapeError(f"The export has impossible counts of lineage. {_NOTHING_IMPORTED}")
    return Lineage(counts)
