"""What linting comes to: findings, scores, what each fix would be worth, and what could not be judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.lint.rule import SEVERITIES
from halflap.lint.score import Costs, server_score, tool_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.lint.rule import Severity

__all__ = ["Finding", "Fix", "Report", "ServerReport", "Unjudged", "make_report"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, as it counts under the configuration."""

    rule: str
    severity: Severity
    server: str
    tool: str
    path: str
    message: str
    fix: str
    patch: Mapping[str, Any] | None = None
    ignored_by: str = ""
    """`author` or `configuration`; empty where it counts."""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give it as `--json` has it, without what it would gain."""
        told: dict[str, Any] = {
            "rule": self.rule,
            "severity": self.severity,
            "tool": self.tool,
            "path": self.path,
            "message": self.message,
            "fix": self.fix,
        }
        if self.patch is not None:
            told["patch"] = self.patch
        if self.ignored_by:
            told |= {"ignoredBy": self.ignored_by, "reason": self.reason}
        return told


@dataclass(frozen=True, slots=True)
class Fix:
    """What it would come to if everything that one rule found in a server were mended."""

    rule: str
    severity: Severity
    findings: int
    tools: int
    gain: float
    """By how much the server's score would rise."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What a rule could not judge, and for want of what."""

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
    """None where it has no tools."""
    tools: Mapping[str, float]
    """The score of each tool, by its name."""
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    gains: tuple[tuple[float, float], ...]
    """For each finding, by how much the tool's and the server's score would rise without it."""
    fixes: tuple[Fix, ...]
    """The best first."""
    unjudged: tuple[Unjudged, ...] = ()

    def counts(self) -> dict[str, int]:
        """Count the findings by severity."""
        counted = Counter(one.severity for one in self.findings)
        return {severity: counted[severity] for severity in SEVERITIES}

    def to_json(self) -> dict[str, Any]:
        """Give it as `--json` has it."""
        return {
            "server": self.server,
            "score": self.score,
            "counts": self.counts(),
            "tools": [{"name": name, "score": score} for name, score in self.tools.items()],
            "findings": [
                {**one.to_json(), "gain": {"tool": tool, "server": server}}
                for one, (tool, server) in zip(self.findings, self.gains, strict=True)
            ],
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
                for one in self.unjudged
            ],
        }


@dataclass(frozen=True)
class Report:
    """What was found in all servers."""

    servers: tuple[ServerReport, ...]

    def fails(self, on: str) -> bool:
        """Say whether there is a finding of this severity, or a graver one."""
        if on == "never":
            return False
        grave = SEVERITIES[: SEVERITIES.index(on) + 1]
        return any(one.severity in grave for server in self.servers for one in server.findings)

    def to_json(self) -> dict[str, Any]:
        """Give it as `--json` has it."""
        return {"servers": [one.to_json() for one in self.servers]}


def make_report(
    server: str,
    tools: Sequence[str],
    findings: Sequence[Finding],
    *,
    ignored: Sequence[Finding],
    unjudged: Sequence[Unjudged],
    costs: Costs,
) -> ServerReport:
    """Score what was found, and say what each fix would be worth: by scoring again without it."""
    by_tool: dict[str, list[Finding]] = {name: [] for name in tools}
    for one in findings:
        by_tool[one.tool].append(one)
    counted = {name: Counter(one.rule for one in found) for name, found in by_tool.items()}
    scores = {name: tool_score(counts, costs) for name, counts in counted.items()}
    total = server_score(scores)

    def without(rule: str, tool: str | None) -> tuple[dict[str, float], float]:
        """Score again without one finding of a tool, or without all that a rule found."""
        changed = dict(scores)
        for name in [tool] if tool is not None else [name for name in tools if counted[name][rule]]:
            counts = counted[name].copy()
            counts[rule] = counts[rule] - 1 if tool is not None else 0
            changed[name] = tool_score(counts, costs)
        return changed, server_score(changed) or 0.0

    gained: dict[tuple[str, str], tuple[float, float]] = {}
    for one in findings:
        if (one.rule, one.tool) not in gained:
            changed, score = without(one.rule, one.tool)
            gained[one.rule, one.tool] = (
                round(changed[one.tool] - scores[one.tool], 2),
                round(score - (total or 0.0), 2),
            )
    fixes = []
    for rule in dict.fromkeys(one.rule for one in findings):
        same = [one for one in findings if one.rule == rule]
        gain = round(without(rule, None)[1] - (total or 0.0), 2)
        fixes.append(Fix(rule, same[0].severity, len(same), len({one.tool for one in same}), gain))
    return ServerReport(
        server=server,
        score=None if total is None else round(total, 1),
        tools={name: round(score, 1) for name, score in scores.items()},
        findings=tuple(findings),
        ignored=tuple(ignored),
        gains=tuple(gained[one.rule, one.tool] for one in findings),
        fixes=tuple(sorted(fixes, key=lambda one: -one.gain)),
        unjudged=tuple(unjudged),
    )
