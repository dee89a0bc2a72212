"""What linting comes to: findings, scores, what each fix would be worth, and what could not be judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.lint.rule import SEVERITIES
from halflap.lint.score import WORSE_THAN_NONE, Costs, Kind, server_score, tool_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.lint.rule import Severity

__all__ = ["Finding", "Fix", "Report", "ServerReport", "Unjudged", "make_report"]

_DIGITS = 4
"""Of a hundred tools, a fix in one is worth little, and not nothing."""


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
    original_name: str = ""
    """What its server calls the tool."""

    @property
    def is_of_result(self) -> bool:
        """Whether it is about what is declared of results, or seen of them, and not worse than to declare nothing."""
        return self.path.startswith("output") and self.rule not in WORSE_THAN_NONE

    def to_json(self) -> dict[str, Any]:
        """Give it as `--json` has it, without what it would gain."""
        told: dict[str, Any] = {
            "rule": self.rule,
            "severity": self.severity,
            "tool": self.tool,
            "originalName": self.original_name,
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
    """By how much the server's score would rise, if nothing new is found in what takes its place."""


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
    """For each finding, by how much the tool's and the server's score would rise without it, and without a new one."""
    fixes: tuple[Fix, ...]
    """The best first."""
    unjudged: tuple[Unjudged, ...] = ()
    original_names: Mapping[str, str] = field(default_factory=dict)
    """What the server calls each tool, by its name."""

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
            "tools": [
                {"name": name, "originalName": self.original_names.get(name, name), "score": score}
                for name, score in self.tools.items()
            ],
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
    tools: Mapping[str, str],
    findings: Sequence[Finding],
    *,
    ignored: Sequence[Finding],
    unjudged: Sequence[Unjudged],
    costs: Costs,
) -> ServerReport:
    """Score what was found, and say what each fix would be worth: by scoring again without it.

    `tools` are what the server calls each, by its name.
    """
    by_tool: dict[str, list[Finding]] = {name: [] for name in tools}
    for one in findings:
        by_tool[one.tool].append(one)
    counted = {
        name: Counter((one.rule, one.is_of_result) for one in found) for name, found in by_tool.items()
    }
    scores = {name: tool_score(counts, costs) for name, counts in counted.items()}
    total = server_score(scores)

    def without(changed: Mapping[str, Counter[Kind]]) -> tuple[dict[str, float], float]:
        """Score again with other findings in some tools."""
        scored = {**scores, **{name: tool_score(counts, costs) for name, counts in changed.items()}}
        return scored, server_score(scored) or 0.0

    gained: dict[tuple[str, Kind], tuple[float, float]] = {}
    for one in findings:
        key = one.tool, (one.rule, one.is_of_result)
        if key not in gained:
            changed, score = without({one.tool: counted[one.tool] - Counter([key[1]])})
            gained[key] = (
                round(changed[one.tool] - scores[one.tool], _DIGITS),
                round(score - (total or 0.0), _DIGITS),
            )
    fixes = []
    for rule in dict.fromkeys(one.rule for one in findings):
        same = [one for one in findings if one.rule == rule]
        left = {
            name: Counter({kind: number for kind, number in counted[name].items() if kind[0] != rule})
            for name in {one.tool for one in same}
        }
        gain = round(without(left)[1] - (total or 0.0), _DIGITS)
        fixes.append(Fix(rule, same[0].severity, len(same), len({one.tool for one in same}), gain))
    return ServerReport(
        server=server,
        score=None if total is None else round(total, 1),
        tools={name: round(score, 1) for name, score in scores.items()},
        findings=tuple(findings),
        ignored=tuple(ignored),
        gains=tuple(gained[one.tool, (one.rule, one.is_of_result)] for one in findings),
        fixes=tuple(sorted(fixes, key=lambda one: -one.gain)),
        unjudged=tuple(unjudged),
        original_names=dict(tools),
    )
