"""What linting found: findings, scores, and what each fix would be worth.

A tool starts at 100. Each rule that finds something takes a share of what is left (error 25 %, warning 10 %, info 3 %,
times the rule's weight); a second finding of the same rule takes half as much, a third a quarter, and so on. Findings
in result fields together never cost more than declaring no output schema, so that declaring one always pays. A
server's score is the mean of its tools' scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halflap.lint.rule import SEVERITIES, Severity

SHARES: dict[Severity, float] = {"error": 0.25, "warning": 0.10, "info": 0.03}
_MAX_SHARE = 0.45
_UNDECLARED = "no-output-schema"
_RESULT_SHARE = 0.8
"""Findings in result fields cost at most this part of what declaring nothing costs."""
_NOT_CAPPED = frozenset({"empty-output-schema", "invalid-schema", "results-break-schema"})
"""A declaration that says nothing or is wrong is no better than none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, with its severity under the configuration."""

    rule: str
    severity: Severity
    tool: str
    original_name: str
    path: str
    message: str
    fix: str
    ignored_by: str = ""
    """`author` or `configuration`; empty if it counts."""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the form of `--json`."""
        data = {
            "rule": self.rule,
            "severity": self.severity,
            "tool": self.tool,
            "originalName": self.original_name,
            "path": self.path,
            "message": self.message,
            "fix": self.fix,
        }
        return data | ({"ignoredBy": self.ignored_by, "reason": self.reason} if self.ignored_by else {})


@dataclass(frozen=True, slots=True)
class Fix:
    """What fixing all findings of one rule would add to the server's score."""

    rule: str
    severity: Severity
    findings: int
    tools: int
    gain: float


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Rules that could not judge some tools, and why."""

    rules: tuple[str, ...]
    tools: int
    of: int
    why: str
    do: str


@dataclass(frozen=True)
class ServerReport:
    """What was found in one server."""

    server: str
    score: float | None
    """None if it has no tools."""
    tools: Mapping[str, float]
    """Each tool's score by its name in the catalogue."""
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    fixes: tuple[Fix, ...]
    """Most valuable first."""
    not_judged: tuple[NotJudged, ...] = ()
    original_names: Mapping[str, str] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Count the findings by severity."""
        counted = Counter(one.severity for one in self.findings)
        return {severity: counted[severity] for severity in SEVERITIES}

    def to_json(self) -> dict[str, Any]:
        """Return the form of `--json`."""
        return {
            "server": self.server,
            "score": self.score,
            "counts": self.counts(),
            "tools": [
                {"name": name, "originalName": self.original_names.get(name, name), "score": score}
                for name, score in self.tools.items()
            ],
            "findings": [one.to_json() for one in self.findings],
            "ignored": [one.to_json() for one in self.ignored],
            "fixes": [
                {
                    "rule": one.rule,
                    "severity": one.severity,
                    "findings": one.findings,
                    "tools": one.tools,
                    "gain": one.gain,
                }
                for one in self.fixes
            ],
            "unjudged": [
                {"rules": list(one.rules), "tools": one.tools, "of": one.of, "why": one.why, "do": one.do}
                for one in self.not_judged
            ],
        }


@dataclass(frozen=True)
class Report:
    """What was found in all servers."""

    servers: tuple[ServerReport, ...]

    def fails(self, on: str) -> bool:
        """Return whether there is a finding of this severity or a higher one."""
        failing = () if on == "never" else SEVERITIES[: SEVERITIES.index(on) + 1]
        return any(one.severity in failing for server in self.servers for one in server.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the form of `--json`."""
        return {"servers": [one.to_json() for one in self.servers]}


def share_of(severity: Severity, weight: float) -> float:
    """Return what the first finding of a rule takes."""
    return min(_MAX_SHARE, SHARES[severity] * weight)


def make_report(
    server: str,
    original_names: Mapping[str, str],
    findings: Sequence[Finding],
    *,
    ignored: Sequence[Finding],
    not_judged: Sequence[NotJudged],
    shares: Mapping[str, float],
) -> ServerReport:
    """Score the findings, and find out what fixing each rule would be worth by scoring without it."""
    scores = _scores(original_names, findings, shares)
    total = _mean(scores)
    fixes = []
    for rule in dict.fromkeys(one.rule for one in findings):
        own = [one for one in findings if one.rule == rule]
        without = _scores(original_names, [one for one in findings if one.rule != rule], shares)
        gain = round((_mean(without) or 0.0) - (total or 0.0), 4)
        fixes.append(Fix(rule, own[0].severity, len(own), len({one.tool for one in own}), gain))
    return ServerReport(
        server=server,
        score=None if total is None else round(total, 1),
        tools={name: round(score, 1) for name, score in scores.items()},
        findings=tuple(findings),
        ignored=tuple(ignored),
        fixes=tuple(sorted(fixes, key=lambda one: -one.gain)),
        not_judged=tuple(not_judged),
        original_names=original_names,
    )


def _scores(
    tools: Mapping[str, str], findings: Sequence[Finding], shares: Mapping[str, float]
) -> dict[str, float]:
    counts: dict[str, Counter[tuple[str, bool]]] = {name: Counter() for name in tools}
    for one in findings:
        in_result = one.path.startswith("output") and one.rule not in _NOT_CAPPED
        counts[one.tool][one.rule, in_result] += 1
    cap = _RESULT_SHARE * shares[_UNDECLARED] if _UNDECLARED in shares else 1.0
    return {name: _score(counted, shares, cap) for name, counted in counts.items()}


def _score(counts: Mapping[tuple[str, bool], int], shares: Mapping[str, float], cap: float) -> float:
    left = {False: 1.0, True: 1.0}
    for (rule, in_result), findings in sorted(counts.items()):
        left[in_result] *= 1.0 - shares[rule] * (2.0 - 2.0 ** (1 - min(findings, 60)))
    return 100.0 * left[False] * max(left[True], 1.0 - cap)


def _mean(scores: Mapping[str, float]) -> float | None:
    return sum(scores.values()) / len(scores) if scores else None
