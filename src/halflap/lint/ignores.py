"""Ignored findings: by the author in the definition, or by the user in the configuration, always with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.suggest import did_you_mean
from halflap.core.text import visible
from halflap.lint.fields import IGNORE_KEYWORD
from halflap.lint.rule import Limits, Problem, Rule
from halflap.lint.rules import RULES as OTHER_RULES

if TYPE_CHECKING:
    from halflap.config import LintIgnore
    from halflap.lint.server import LintServer, LintTool


class AuthorIgnore(NamedTuple):
    """A rule that an author ignores for a tool, or for one place in it and everything below."""

    rule: str
    reason: str
    """Empty if none is given; then nothing is ignored."""
    where: str = ""


def author_ignores(tool: LintTool) -> Iterator[AuthorIgnore]:
    """Yield what a tool's definition ignores."""
    places: list[tuple[object, str]] = [((tool.tool.meta or {}).get(IGNORE_KEYWORD), "")]
    for side, schema in (("input", tool.tool.input_schema), ("output", tool.tool.output_schema)):
        places.append((schema.get(IGNORE_KEYWORD) if isinstance(schema, dict) else None, side))
    places += [(one.ignores or None, one.where) for one in (*tool.inputs, *tool.declared_outputs)]
    for ignored, where in places:
        entries = ignored.items() if isinstance(ignored, dict) else [("", "")] if ignored is not None else ()
        for rule, reason in entries:
            yield AuthorIgnore(str(rule), reason.strip() if isinstance(reason, str) else "", where)


def ignored_by(
    rule: str, problem: Problem, own: Sequence[AuthorIgnore], configured: Sequence[LintIgnore]
) -> tuple[str, str]:
    """Return who ignores a problem (`author`, `configuration`, or empty for neither) and why."""
    for one in own:
        if one.rule == rule and one.reason and _covers(one.where, problem.path):
            return "author", one.reason
    for each in configured:
        if fnmatchcase(rule, each.rule) and fnmatchcase(problem.tool.name, each.tools):
            return "configuration", each.reason
    return "", ""


def _covers(where: str, path: str) -> bool:
    where = where.rstrip("[]")
    return not where or path == where or path.startswith((f"{where}.", f"{where}["))


def _ignore_without_reason(server: LintServer, _: Limits) -> Iterator[Problem]:
    known = [one.id for one in RULES]
    for tool in server.tools:
        for one in author_ignores(tool):
            if one.rule not in known:
                name = visible(one.rule, 80)
                fix = did_you_mean(one.rule, known) or "Name the rule as findings do."
                yield Problem(
                    tool, one.where, f"`{IGNORE_KEYWORD}` of {tool.shown} names no rule: “{name}”.", fix
                )
            elif not one.reason:
                yield Problem(
                    tool,
                    one.where,
                    f"{tool.shown} ignores `{one.rule}` without a reason, so the rule still applies.",
                    f'Write `"{IGNORE_KEYWORD}": {{"{one.rule}": "why"}}`.',
                )


RULES = (*OTHER_RULES, Rule("ignore-without-reason", "warning", _ignore_without_reason))
