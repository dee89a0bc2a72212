"""Annotations for fields and parameters: which entity an id identifies, which unit a number has.

`Annotated[str, produces("customer")]` on a field that one tool returns and `Annotated[str, consumes("customer")]` on a
parameter of another tool of the same server declare that the first can be passed as the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

KEYWORD = "x-halflap"
"""The schema keyword that holds relations and units: `{"produces": "customer", "unit": "USD cents"}`."""
IGNORE_KEYWORD = "x-halflap-lint-ignore"
"""The schema keyword that holds ignored lint rules, each with a reason."""

_MAX_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Annotation:
    """One entry under a keyword of a value's schema."""

    keyword: str
    key: str
    value: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = dict(handler(core_schema))
        schema[self.keyword] = {**schema.get(self.keyword, {}), self.key: self.value}
        return schema


def produces(entity: str) -> Annotation:
    """Declare that a returned value identifies an entity."""
    return Annotation(KEYWORD, "produces", _name("produces", entity))


def consumes(entity: str) -> Annotation:
    """Declare that a parameter takes the id of an entity."""
    return Annotation(KEYWORD, "consumes", _name("consumes", entity))


def unit(name: str) -> Annotation:
    """Declare the unit of a number: `USD cents`, `seconds`, `kg`."""
    return Annotation(KEYWORD, "unit", _name("unit", name))


fraction = Annotation(KEYWORD, "unit", "fraction")
"""A fraction: 0.15 means 15 %."""


def lint_ignore(rule: str, reason: str) -> Annotation:
    """Exempt a value from a lint rule: `lint_ignore("id-not-accepted", "Only shown to people.")`."""
    if not reason.strip():
        raise ValueError(f"lint_ignore({rule!r}, …) needs a reason.")
    return Annotation(IGNORE_KEYWORD, _name("lint_ignore", rule), reason.strip())


def _name(function: str, name: str) -> str:
    if not name.strip() or len(name) > _MAX_LENGTH or not name.isprintable():
        raise ValueError(f"{function}() takes a name of at most {_MAX_LENGTH} characters, not {name!r}.")
    return name.strip()


@dataclass(frozen=True, slots=True)
class _Relation:
    tool: str
    entity: str
    schema: dict[str, Any]
    description: str


class Linker:
    """Writes into each field's description which tools of the server it connects to.

    Tools are added one after another, so the published schemas are updated in place whenever one is added.
    """

    def __init__(self) -> None:
        self._relations: dict[str, list[_Relation]] = {"produces": [], "consumes": []}

    def add(self, tool: str, *, takes: Mapping[str, Any], returns: Mapping[str, Any]) -> None:
        """Add a tool's published schemas and describe units and relations in them."""
        for schema, key, irrelevant in ((returns, "produces", "consumes"), (takes, "consumes", "produces")):
            for part in subschemas(schema):
                _describe_unit(part, irrelevant)
                entity = part.get(KEYWORD, {}).get(key)
                if entity is not None:
                    self._relations[key].append(_Relation(tool, entity, part, part.get("description", "")))
        self._describe("produces", "consumes", "Use with")
        self._describe("consumes", "produces", "From")

    def _describe(self, key: str, other: str, phrase: str) -> None:
        for one in self._relations[key]:
            tools = dict.fromkeys(
                each.tool
                for each in self._relations[other]
                if each.entity == one.entity and each.tool != one.tool
            )
            one.schema["description"] = with_sentence(
                one.description, f"{phrase} {', '.join(tools)}." if tools else ""
            )
            if not one.schema["description"]:
                del one.schema["description"]


def _describe_unit(schema: dict[str, Any], irrelevant: str) -> None:
    declared = schema.get(KEYWORD)
    if not isinstance(declared, dict):
        return
    kept = {key: value for key, value in declared.items() if key != irrelevant}
    if kept:
        schema[KEYWORD] = kept
    else:
        del schema[KEYWORD]
    if "unit" in kept:
        example = " (0.15 = 15%)" if kept["unit"] == fraction.value else ""
        schema["description"] = with_sentence(
            schema.get("description", ""), f"Unit: {kept['unit']}{example}."
        )


def with_sentence(text: str, sentence: str) -> str:
    """Append a sentence to a description that does not have it yet."""
    text = text.strip()
    if not sentence or sentence in text:
        return text
    end = "" if not text or text[-1] in ".!?:" else "."
    return f"{text}{end} {sentence}".strip()


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    inside: list[Iterable[Any]] = [
        schema.get(key, {}).values() for key in ("properties", "patternProperties", "$defs")
    ]
    inside += [schema.get(key, ()) for key in ("anyOf", "oneOf", "allOf", "prefixItems")]
    inside.append(schema.get(key) for key in ("items", "additionalProperties"))
    for parts in inside:
        for part in parts:
            yield from subschemas(part)
