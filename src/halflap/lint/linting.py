"""Apply the rules to servers, under a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.config import LintConfig
from halflap.lint.ignores import author_ignores, why_ignored
from halflap.lint.report import Finding, Report, Unjudged, make_report
from halflap.lint.rule import SEVERITIES, Limits
from halflap.lint.rules import RULES
from halflap.lint.score import share_of
from halflap.lint.server import with_graph

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from halflap.lint.report import ServerReport
    from halflap.lint.rule import Rule
    from halflap.lint.server import Server

__all__ = ["lint"]

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
    for rule in sorted(rules, key=lambda rule: SEVERITIES.index(severities[rule.id])):
        for found in rule.check(server, limits):
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
    unjudged = list(_unjudged(server, rules))
    return make_report(server.name, names, findings, ignored=ignored, unjudged=unjudged, costs=costs)


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
