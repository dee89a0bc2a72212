"""Apply the rules to servers, under a configuration."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.config import LintConfig
from halflap.core.text import visible
from halflap.lint.ignores import author_ignores, why_ignored
from halflap.lint.report import Finding, Report, Unjudged, make_report
from halflap.lint.rule import SEVERITIES, Limits
from halflap.lint.rules import RULES
from halflap.lint.score import share_of
from halflap.lint.server import with_graph

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from halflap.lint.report import ServerReport
    from halflap.lint.rule import Found, Rule
    from halflap.lint.server import Entry, Server

__all__ = ["lint"]

logger = logging.getLogger(__name__)
_LONGEST = 160
_REPORT = "That is a mistake in Halflap: please report it with their definitions. All else was judged."
_HOW_TO_SEE = "Call them through Halflap, or read their logs with `halflap backfill`."


def lint(
    servers: Sequence[Server], config: LintConfig | None = None, *, only: Collection[str] | None = None
) -> Report:
    """Apply all rules to these servers, or to some of them with the others known."""
    config = config or LintConfig()
    rules = [rule for rule in RULES if rule.id not in config.off]
    return Report(
        tuple(_report(one, rules, config) for one in with_graph(servers) if only is None or one.name in only)
    )


def _report(server: Server, rules: Sequence[Rule], config: LintConfig) -> ServerReport:
    limits = Limits(config.max_name_length, config.max_description_bytes)
    severities = {rule.id: config.severity.get(rule.id, rule.severity) for rule in rules}
    own = {one.name: tuple(author_ignores(one)) for one in server.entries}
    findings: list[Finding] = []
    ignored: list[Finding] = []
    failed: list[Unjudged] = []
    for rule in sorted(rules, key=lambda rule: SEVERITIES.index(severities[rule.id])):
        for found in _found(rule, server, limits, failed):
            why = why_ignored(rule.id, found, own[found.tool], config.ignore)
            by, reason = why or ("", "")
            one = Finding(
                rule.id,
                severities[rule.id],
                server.name,
                found.tool,
                found.path,
                found.message,
                found.fix,
                found.patch,
                by,
                reason,
                server.by_name[found.tool].tool.original_name,
            )
            (ignored if by else findings).append(one)
    costs = {rule.id: share_of(severities[rule.id], rule.weight) for rule in rules}
    names = {one.name: one.tool.original_name for one in server.entries}
    unjudged = [*_unread(server, rules), *failed, *_unjudged(server, rules)]
    return make_report(server.name, names, findings, ignored=ignored, unjudged=unjudged, costs=costs)


def _found(rule: Rule, server: Server, limits: Limits, failed: list[Unjudged]) -> list[Found]:
    """Apply a rule; where it fails, to the tools alone that it does not fail on, and say which those are not."""
    try:
        return list(rule.check(server, limits))
    except Exception as error:
        # Whoever wrote one definition would have all others go unjudged.
        logger.exception("server %r: the rule %s failed", server.name, rule.id)
        why = visible(f"{type(error).__name__}: {error}", _LONGEST)
    left = [one for one in server.entries if _holds(rule, server, one, limits)]
    found: list[Found] = []
    try:
        found += rule.check(replace(server, entries=tuple(left)), limits) if left else ()
    except Exception:
        # It fails on what they are together.
        logger.exception(
            "server %r: the rule %s failed on tools that it holds for one by one", server.name, rule.id
        )
        left = []
    held = {one.name for one in left}
    without = [one.shown for one in server.entries if one.name not in held]
    told = f"the rule failed on them ({', '.join(without[:3])}{', …' if len(without) > 3 else ''}): {why}."  # noqa: PLR2004 -- to be found
    failed.append(Unjudged((rule.id,), len(without), len(server.entries), told, _REPORT))
    return found


def _holds(rule: Rule, server: Server, one: Entry, limits: Limits) -> bool:
    try:
        list(rule.check(replace(server, entries=(one,)), limits))
    except Exception:  # noqa: BLE001 -- logged where it failed first
        return False
    return True


def _unread(server: Server, rules: Sequence[Rule]) -> Iterator[Unjudged]:
    if server.unread:
        count = len(server.unread)
        shown = ", ".join(visible(one.tool, _LONGEST) for one in server.unread[:3])
        why = f"they could not be read ({shown}{', …' if count > 3 else ''}): {visible(server.unread[0].why, _LONGEST)}."  # noqa: PLR2004 -- as above
        yield Unjudged(tuple(rule.id for rule in rules), count, count + len(server.entries), why, _REPORT)


def _unjudged(server: Server, rules: Sequence[Rule]) -> Iterator[Unjudged]:
    """Say what could not be judged: nobody should take silence for praise."""
    count = len(server.entries)
    judging = tuple(rule.id for rule in rules if rule.needs == "outputs")
    unknown = [one for one in server.entries if not one.knows_fields]
    texts = [one for one in unknown if one.returns_text]
    others = [one for one in unknown if not one.returns_text]
    seldom = [one for one in others if one.seen.observations and one.seen.type is None]
    never = [one for one in others if one not in seldom]
    if never:
        why = (
            "it is not known which fields they return: they do not declare it, and nothing was learned of it."
        )
        yield Unjudged(judging, len(never), count, why, _HOW_TO_SEE)
    if seldom:
        why = "they do not declare which fields they return, and what was seen of it is too little."
        yield Unjudged(judging, len(seldom), count, why, "Call them with other arguments, too.")
    if texts:
        why = "they return texts, in which there may be anything."
        do = "Return objects with named fields, where others should go on with what is in them."
        yield Unjudged(judging, len(texts), count, why, do)
    unseen = [one for one in server.entries if not one.seen.observations and not one.seen.calls]
    if unseen:
        judging = tuple(rule.id for rule in rules if rule.needs == "results")
        why = "no results of theirs are on record."
        yield Unjudged(judging, len(unseen), count, why, _HOW_TO_SEE)
