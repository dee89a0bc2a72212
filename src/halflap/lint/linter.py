"""Apply the rules to servers, under a configuration."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from halflap.config import LintConfig
from halflap.core.errors import UsageError
from halflap.core.suggest import did_you_mean
from halflap.core.text import quote
from halflap.lint.ignores import RULES, author_ignores, ignored_by
from halflap.lint.report import Finding, NotJudged, Report, ServerReport, make_report, share_of
from halflap.lint.rule import SEVERITIES, Limits, Problem, Rule

if TYPE_CHECKING:
    from halflap.lint.server import LintServer

logger = logging.getLogger(__name__)


def lint(servers: Iterable[LintServer], config: LintConfig | None = None) -> Report:
    """Apply all rules to these servers."""
    config = config or LintConfig()
    known = [rule.id for rule in RULES]
    for name in (*config.off, *config.severity):
        if name not in known:
            raise UsageError(
                f"`lint` names a rule that does not exist: {quote(name)}. {did_you_mean(name, known)}".rstrip()
            )
    rules = [rule for rule in RULES if rule.id not in config.off]
    return Report(tuple(_report(server, rules, config) for server in servers))


def _report(server: LintServer, rules: Sequence[Rule], config: LintConfig) -> ServerReport:
    limits = Limits(config.max_name_length, config.max_description_bytes)
    severities = {rule.id: rule.severity for rule in rules} | dict(config.severity)
    own = {tool.name: tuple(author_ignores(tool)) for tool in server.tools}
    findings: list[Finding] = []
    ignored: list[Finding] = []
    failed: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: SEVERITIES.index(severities[rule.id])):
        for problem in _problems(rule, server, limits, failed):
            name = problem.tool.name
            by, reason = ignored_by(rule.id, problem, own[name], config.ignore)
            finding = Finding(
                rule=rule.id,
                severity=severities[rule.id],
                tool=name,
                original_name=problem.tool.tool.original_name,
                path=problem.path,
                message=problem.message,
                fix=problem.fix,
                ignored_by=by,
                reason=reason,
            )
            (ignored if by else findings).append(finding)
    return make_report(
        server.name,
        {tool.name: tool.tool.original_name for tool in server.tools},
        findings,
        ignored=ignored,
        not_judged=[*_failures(server, failed), *_not_judged(server, rules)],
        shares={rule.id: share_of(severities[rule.id], rule.weight) for rule in rules},
    )


def _problems(rule: Rule, server: LintServer, limits: Limits, failed: list[Rule]) -> list[Problem]:
    try:
        return list(rule.check(server, limits))
    except Exception:
        # Definitions are untrusted; one that breaks a rule must not hide what the other rules find.
        logger.exception("server %r: the lint rule %s failed", server.name, rule.id)
        failed.append(rule)
        return []


def _failures(server: LintServer, failed: Sequence[Rule]) -> Iterator[NotJudged]:
    if failed:
        count = len(server.tools)
        why = "A rule failed; the log has the details."
        yield NotJudged(tuple(rule.id for rule in failed), count, count, why, "Please report it.")


def _not_judged(server: LintServer, rules: Sequence[Rule]) -> Iterator[NotJudged]:
    """Yield the rules that could not judge some tools, so that silence is not mistaken for approval."""
    count = len(server.tools)
    unknown = sum(not tool.knows_outputs for tool in server.tools)
    unseen = sum(not (tool.evidence.observations or tool.evidence.recorded) for tool in server.tools)
    do = "Call them through Halflap, or run `halflap backfill` on their logs."
    for needs, number, why in (
        ("outputs", unknown, "The fields of their results are neither declared nor learned."),
        ("results", unseen, "None of their results are on record."),
    ):
        if number:
            yield NotJudged(tuple(rule.id for rule in rules if rule.needs == needs), number, count, why, do)
