"""What is ignored on purpose: by the author in the definition, or by whoever configures the linter; with a reason."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from halflap.lint.parts import IGNORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.config import LintIgnore
    from halflap.lint.rule import Found
    from halflap.lint.server import Entry

__all__ = ["AuthorIgnore", "author_ignores", "why_ignored"]


class AuthorIgnore(NamedTuple):
    """That an author has a rule ignored, for the tool or for a place of it and what is below."""

    rule: str
    reason: str
    """Empty where none is given: then nothing is ignored."""
    where: str = ""


def author_ignores(one: Entry) -> Iterator[AuthorIgnore]:
    """Give what the definition of a tool has ignored."""
    yield from _read((one.tool.meta or {}).get(IGNORE), "")
    if one.definition is not None:
        yield from _read(one.definition.get(IGNORE), "")
    for side, schema in (("input", one.tool.input_schema), ("output", one.tool.output_schema)):
        if isinstance(schema, dict):
            yield from _read(schema.get(IGNORE), side)
    for part in one.parts:
        if not part.is_seen and part.ignores:
            yield from _read(part.ignores, part.where)


def _read(said: object, where: str) -> Iterator[AuthorIgnore]:
    if said is None:
        return
    if not isinstance(said, dict):
        yield AuthorIgnore("", "", where)
        return
    for rule, reason in said.items():
        yield AuthorIgnore(str(rule), reason.strip() if isinstance(reason, str) else "", where)


def why_ignored(
    rule: str, found: Found, own: Sequence[AuthorIgnore], configured: Sequence[LintIgnore]
) -> tuple[str, str] | None:
    """Say who has a finding ignored, `author` or `configuration`, and why; None where nobody has."""
    for one in own:
        if (
            one.rule == rule
            and one.reason
            and (_covers(one.where, found.path) or (found.about and _covers(one.where, found.about)))
        ):
            return "author", one.reason
    for each in configured:
        if fnmatchcase(rule, each.rule) and fnmatchcase(found.tool, each.tools):
            return "configuration", each.reason
    return None


def _covers(where: str, path: str) -> bool:
    """Say whether a place is one, or is within it."""
    while where.endswith("[]"):
        where = where.removesuffix("[]")
    return not where or path == where or path.startswith((f"{where}.", f"{where}["))
