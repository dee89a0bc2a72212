"""What a field is of and in which unit it is: annotations that go into schemas and descriptions.

`Annotated[str, produces("customer")]` at a field that a tool returns, and `Annotated[str, consumes("customer")]` at a
parameter of another tool of the same server, say that the one can be passed as the other, whatever they are called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "IGNORE_KEYWORD",
    "KEYWORD",
    "LintIgnore",
    "Mark",
    "consumes",
    "fraction",
    "lint_ignore",
    "produces",
    "sentence",
    "unit",
]

KEYWORD = "x-halflap"
"""The keyword under which a schema has all of it: `{"produces": "customer", "unit": "USD cents"}`."""

IGNORE_KEYWORD = "x-halflap-lint-ignore"
"""The keyword under which a schema has the rules of the linter that are not for it, each with a reason."""

_LONGEST = 64
_RULE = re.compile(r"[a-z]+(-[a-z]+)*")
_ENTITY = re.compile(r"[^\W\d_][\w .-]*")
_SHARE = "fraction"

Kind = Literal["produces", "consumes", "unit"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that is said of a value, beside its type."""

    kind: Kind
    says: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = dict(handler(core_schema))
        self.put(schema)
        return schema

    def put(self, schema: dict[str, Any]) -> None:
        """Put it into the schema of the value."""
        schema[KEYWORD] = {**schema.get(KEYWORD, {}), self.kind: self.says}


@dataclass(frozen=True, slots=True)
class LintIgnore:
    """A rule of the linter that is not to look at a value, and why."""

    rule: str
    reason: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        schema: dict[str, Any] = dict(handler(core_schema))
        self.put(schema)
        return schema

    def put(self, schema: dict[str, Any]) -> None:
        """Put it into the schema of the value."""
        schema[IGNORE_KEYWORD] = {**schema.get(IGNORE_KEYWORD, {}), self.rule: self.reason}


def produces(entity: str) -> Mark:
    """Say that a value which a tool returns identifies such a thing, and can be passed where one is consumed."""
    return Mark("produces", _entity("produces", entity))


def consumes(entity: str) -> Mark:
    """Say that a parameter takes what identifies such a thing."""
    return Mark("consumes", _entity("consumes", entity))


def unit(name: str) -> Mark:
    """Say in which unit a number is: `USD cents`, `seconds`, `kg`."""
    if not _is_short(name) or not name.strip() or not name.isprintable():
        raise ValueError(f"unit() takes the name of a unit of at most {_LONGEST} characters, not {name!r}.")
    return Mark("unit", name.strip())


def lint_ignore(rule: str, reason: str) -> LintIgnore:
    """Say that a rule of `halflap lint` is not for a value: `lint_ignore("id-not-accepted", "It is for people.")`."""
    if not _is_short(rule) or not _RULE.fullmatch(rule):
        raise ValueError(
            f"lint_ignore() takes the id of a rule, such as 'id-not-accepted' (docs/lint.md has all), not {rule!r}."
        )
    if not str(reason or "").strip():
        raise ValueError(
            f"lint_ignore({rule!r}, …) takes a reason, a sentence that says why; not {reason!r}."
        )
    return LintIgnore(rule, reason.strip())


fraction = Mark("unit", _SHARE)
"""A share as a decimal: 0.15 is 15 %."""


def sentence(said: dict[str, Any]) -> str:
    """Give what a schema says under the keyword as people and models read it in a description."""
    told = []
    for kind, word in (("produces", "Produces"), ("consumes", "Consumes"), ("unit", "Unit")):
        if kind in said:
            example = " (0.15 = 15%)" if (kind, said[kind]) == ("unit", _SHARE) else ""
            told.append(f"{word}: {said[kind]}{example}.")
    return " ".join(told)


def _is_short(text: object) -> bool:
    return isinstance(text, str) and len(text) <= _LONGEST


def _entity(word: str, entity: str) -> str:
    if not _is_short(entity) or not _ENTITY.fullmatch(entity.strip()):
        raise ValueError(
            f"{word}() takes the name of a thing, such as 'customer': a letter first, then letters, digits, spaces and "
            f"_ . -, at most {_LONGEST} characters; not {entity!r}."
        )
    return entity.strip()
