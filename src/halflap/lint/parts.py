"""The named fields of a schema, each with its place, its description and what else is said of it.

Beside the types that `schema` reads, the linter wants what types leave out: keywords of the author's own, and where
to write. A schema may refer to itself or be written to harm: it is gone through to a depth, and so many parts of it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.text import visible
from halflap.graph.edge import EACH, VALUE, key, path_text
from halflap.graph.words import Words, words_of
from halflap.schema import PLAIN, References

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.edge import Path

__all__ = ["IGNORE", "Part", "Side", "parts_of"]

Side = Literal["input", "output"]
IGNORE = "x-halflap-lint-ignore"
"""The keyword, in a schema or in a tool's `_meta`, by which an author has findings ignored: rule → reason."""

_DEEPEST = 10
_MOST = 400
_MOST_LAYERS = 60
_MOST_WORK = 20_000
_MOST_VALUES = 100
_LONGEST_NAME = 60
_LONGEST_PLACE = 300
_CHOICES = ("allOf", "anyOf", "oneOf")
_KEPT = (
    "format", "pattern", "const", "contentEncoding", "minimum", "maximum", "default", "example",
    "examples", "minLength", "maxLength")  # fmt: skip
_UNIT_KEYS = ("x-unit", "x-halflap-unit", "x-units", "unit", "units")


@dataclass(frozen=True, slots=True)
class Part:
    """A named field of what a tool takes or returns."""

    side: Side
    path: Path
    name: str
    words: Words
    kinds: frozenset[str]
    """What it may be; of a list, what its items may be. Empty where that is not said."""
    lists: int
    """In how many lists its values are: 0 where it is none."""
    description: str
    required: bool
    beside: frozenset[str]
    """The names of the fields of the same object, its own too."""
    values: tuple[Any, ...] = ()
    """Those that it may have, where they are listed."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of its schema."""
    unit: str = ""
    """The unit that a keyword gives it."""
    ignores: Mapping[str, Any] = field(default_factory=dict)
    """What its author has ignored there, and below."""
    takes_null: bool = False
    """Whether it may be null; of a list, whether its items may."""
    prefix: str = ""
    is_seen: bool = False
    """Whether it is only known from results."""

    @property
    def is_list(self) -> bool:
        """Whether it is a list of such values."""
        return self.lists > 0

    @property
    def where(self) -> str:
        """Its place, as people read it: `output.orders[].total`."""
        return visible(self._where, _LONGEST_PLACE)

    @property
    def _where(self) -> str:
        text = path_text(self.path) + "[]" * self.lists
        joint = "" if text.startswith("[") else "."
        return f"{self.side}{self.prefix}{joint}{text}"

    def patched_with(self, **said: Any) -> dict[str, Any] | None:
        """Give the patch that says something of it; nothing where its place is not told in full."""
        return said if self.where == self._where else None

    @property
    def shown(self) -> str:
        """Its name, fit for a message."""
        return visible(self.name, _LONGEST_NAME)


@dataclass(slots=True)
class _Layers:
    """All schemas that are said of one place."""

    kinds: set[str] = field(default_factory=set)
    descriptions: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)
    unit: str = ""
    ignores: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, list[Any]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    items: list[Any] = field(default_factory=list)
    extra: list[Any] = field(default_factory=list)


def parts_of(schema: Any, side: Side, *, inside: str = "", is_seen: bool = False) -> tuple[Part, ...]:
    """Give the named fields of a schema, the outermost first.

    `inside` is the one property of a wrapper that they are read within.
    """
    return tuple(islice(_Walk(schema, side, inside, is_seen=is_seen).parts(), _MOST))


class _Walk:
    def __init__(self, schema: Any, side: Side, inside: str, *, is_seen: bool) -> None:
        self._references = References(schema)
        self._schema = schema
        self._side: Side = side
        self._inside = inside
        self._is_seen = is_seen
        self._work = 0

    def parts(self) -> Iterator[Part]:
        start: list[Any] = [self._schema]
        if self._inside:
            start = self._layers(start, frozenset())[0].properties.get(self._inside, [])
        waiting: deque[tuple[list[Any], Path, frozenset[int]]] = deque([(start, (), frozenset())])
        while waiting:
            schemas, path, through = waiting.popleft()
            if self._work > _MOST_WORK:
                return
            layers, met = self._layers(schemas, through)
            within, layers, met = self._through_lists(path, layers, met)
            if len(within) >= _DEEPEST:
                continue
            for name, inner in layers.properties.items():
                if self._work > _MOST_WORK:
                    return
                yield self._part(name, inner, within, layers, met)
                waiting.append((inner, (*within, key(name)), met))
            if layers.extra:
                waiting.append((layers.extra, (*within, VALUE), met))

    def _through_lists(
        self, path: Path, layers: _Layers, met: frozenset[int]
    ) -> tuple[Path, _Layers, frozenset[int]]:
        """Go on to what is in a list, and in lists of lists."""
        for _ in range(_DEEPEST):
            if not layers.items or layers.properties:
                break
            path = (*path, EACH)
            layers, met = self._layers(layers.items, met)
        return path, layers, met

    def _part(self, name: str, schemas: list[Any], path: Path, around: _Layers, met: frozenset[int]) -> Part:
        own, inner = self._layers(schemas, met)
        within, leaf, _ = self._through_lists((), own, inner)
        return Part(
            side=self._side,
            path=(*path, key(name)),
            name=name,
            words=words_of(name),
            kinds=frozenset(leaf.kinds - {"null"}),
            lists=len(within),
            # Of a list, what is said of its items is said of it.
            description=" ".join(dict.fromkeys((*own.descriptions[:1], *leaf.descriptions[:1]))),
            required=name in around.required,
            beside=frozenset(around.properties),
            values=tuple(leaf.values[:_MOST_VALUES]),
            said={**leaf.said, **own.said},
            unit=own.unit or leaf.unit,
            ignores={**leaf.ignores, **own.ignores},
            takes_null="null" in leaf.kinds,
            prefix=f".{self._inside}" if self._inside else "",
            is_seen=self._is_seen,
        )

    def _layers(self, schemas: list[Any], through: frozenset[int]) -> tuple[_Layers, frozenset[int]]:
        """Put together what is said of one place, wherever that is said: behind references, in every choice."""
        found = _Layers()
        met = set(through)
        rest: deque[Any] = deque(schemas)
        for _ in range(_MOST_LAYERS):
            if not rest:
                break
            schema = rest.popleft()
            self._work += 1
            if not isinstance(schema, dict) or id(schema) in met:
                continue
            met.add(id(schema))
            self._take(found, schema)
            more = [
                self._references.find(schema[word])
                for word in ("$ref", "$dynamicRef")
                if isinstance(schema.get(word), str)
            ]
            for word in _CHOICES:
                choices = schema.get(word)
                more += choices[:_MOST_LAYERS] if isinstance(choices, list) else []
            # One choice to its end before the next: of too many, the first are whole.
            rest.extendleft(reversed(more))
        return found, frozenset(met)

    def _take(self, found: _Layers, schema: Mapping[str, Any]) -> None:
        kind = schema.get("type")
        named = kind if isinstance(kind, list) else [kind]
        found.kinds |= {one for one in named[: len(PLAIN)] if isinstance(one, str) and one in PLAIN}
        described = schema.get("description")
        if isinstance(described, str) and described.strip():
            found.descriptions.append(described)
        values = schema.get("enum")
        found.values += values[:_MOST_VALUES] if isinstance(values, list) else []
        found.values += [schema["const"]] if "const" in schema else []
        found.said |= {word: schema[word] for word in _KEPT if word in schema and word not in found.said}
        found.unit = found.unit or _unit(schema)
        ignored = schema.get(IGNORE)
        found.ignores |= ignored if isinstance(ignored, dict) else {} if ignored is None else {"": ignored}
        properties = schema.get("properties")
        for name, inner in islice((properties if isinstance(properties, dict) else {}).items(), _MOST):
            self._work += 1
            found.properties.setdefault(name, []).append(inner)
        required = schema.get("required")
        found.required |= {
            one for one in (required if isinstance(required, list) else [])[:_MOST] if isinstance(one, str)
        }
        items, first = schema.get("items"), schema.get("prefixItems")
        for one in (items, first):
            found.items += (
                [one] if isinstance(one, dict) else one[:_MOST_LAYERS] if isinstance(one, list) else []
            )
        extra = schema.get("additionalProperties")
        found.extra += [extra] if isinstance(extra, dict) else []


def _unit(schema: Mapping[str, Any]) -> str:
    for word in _UNIT_KEYS:
        unit = schema.get(word)
        if isinstance(unit, str) and unit.strip():
            return unit
    own = schema.get("x-halflap")
    unit = own.get("unit") if isinstance(own, dict) else None
    return unit if isinstance(unit, str) else ""
