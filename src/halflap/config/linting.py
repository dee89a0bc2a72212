"""What the `lint` section takes: the linter's rules by name, severities, and what is ignored for which reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from halflap.config.kinds import WRONG, Choice, Kind, Text
from halflap.config.nodes import shown

if TYPE_CHECKING:
    from halflap.config.nodes import Node, Problems

__all__ = ["FAIL_ON", "LINT_RULES", "IgnoreKind", "LintConfig", "LintIgnore", "RuleKind", "SeverityKind"]

LINT_RULES = (
    "no-output-schema",
    "empty-output-schema",
    "results-break-schema",
    "invalid-schema",
    "error-as-text",
    "envelope-in-part",
    "name-characters",
    "name-too-long",
    "prefixed-name-too-long",
    "duplicate-name",
    "no-description",
    "description-too-long",
    "parameter-without-description",
    "field-without-description",
    "enum-in-prose",
    "id-not-produced",
    "id-not-accepted",
    "entity-named-two-ways",
    "number-without-unit",
    "unit-differs",
    "date-without-format",
    "date-format-in-prose",
    "paging-without-cursor",
    "cursor-not-given",
    "paging-without-has-more",
    "read-only-not-annotated",
    "destructive-not-annotated",
    "annotation-contradicts-name",
    "ignore-without-reason",
)
"""The rules that there are, in their order: a file that names another is told so, with the line. `lint` has the rules."""

_SEVERITIES = ("error", "warning", "info")
FAIL_ON = (*_SEVERITIES, "never")
_KEYS = ("rule", "tools", "reason")


@dataclass(frozen=True, slots=True)
class LintIgnore:
    """Findings that are ignored, and why."""

    rule: str
    """A rule, or a glob."""
    reason: str
    tools: str = "*"
    """The name of a tool, or a glob."""


def _no_severities() -> Mapping[str, Literal["error", "warning", "info"]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LintConfig:
    """How strict the linter is, and about what."""

    off: tuple[str, ...] = ()
    severity: Mapping[str, Literal["error", "warning", "info"]] = field(
        default_factory=_no_severities, hash=False
    )
    ignore: tuple[LintIgnore, ...] = ()
    fail_on: Literal["error", "warning", "info", "never"] = "error"
    max_name_length: int = 64
    max_description_bytes: int = 2_048

    def __post_init__(self) -> None:
        object.__setattr__(self, "severity", MappingProxyType(dict(self.severity)))


def _known_rule(name: str, line: int | None, where: str, problems: Problems) -> bool:
    if name in LINT_RULES:
        return True
    from rapidfuzz import fuzz, process  # noqa: PLC0415 -- few make a mistake

    near = process.extractOne(name, LINT_RULES, scorer=fuzz.ratio, score_cutoff=60)
    problems.add(
        line,
        f"{where}: there is no lint rule `{shown(name)}`.",
        f"Did you mean `{near[0]}`?"
        if near
        else "`halflap lint --all` names the rule of each finding; docs/lint.md has all.",
    )
    return False


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKind(Kind):
    """The id of a rule."""

    @property
    def expected(self) -> str:
        return "the id of a rule"

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, str):
            return self.wrong(node, where, problems)
        return node.value if _known_rule(node.value, node.line, where, problems) else WRONG


@dataclass(frozen=True, slots=True, kw_only=True)
class SeverityKind(Kind):
    """Rules, each with its severity."""

    @property
    def expected(self) -> str:
        return "a mapping of rules to error, warning or info"

    def advice(self, node: Node) -> str | None:  # noqa: ARG002 -- the same for all
        return "Write `rule: severity` for each."

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, Mapping):
            return self.wrong(node, where, problems)
        kind = Choice(options=_SEVERITIES)
        known = [_known_rule(name, one.line, where, problems) for name, one in node.value.items()]
        values = {
            name: kind.read(one, f"{where}.{shown(name)}", problems) for name, one in node.value.items()
        }
        return values if all(known) and WRONG not in values.values() else WRONG


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreKind(Kind):
    """What is ignored, one after the other, each with its reason."""

    @property
    def expected(self) -> str:
        return "a list of mappings with rule, tools and reason"

    def advice(self, node: Node) -> str | None:  # noqa: ARG002 -- the same for all
        return "Write `- rule: …`, `tools: …` and `reason: …` for each."

    def read(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, tuple):
            return self.wrong(node, where, problems)
        found = [self._one(one, f"{where}[{at}]", problems) for at, one in enumerate(node.value)]
        return WRONG if WRONG in found else tuple(found)

    def _one(self, node: Node, where: str, problems: Problems) -> Any:
        if not isinstance(node.value, Mapping):
            problems.add(node.line, f"{where} must be a mapping, not {node.kind}.", self.advice(node))
            return WRONG
        before = len(problems.found)
        for key, member in node.value.items():
            if key not in _KEYS:
                problems.add(
                    member.line,
                    f"unknown key `{shown(key)}` in `{where}`.",
                    f"There are: {', '.join(_KEYS)}.",
                )
        # Of what has to be there, what is empty is told as what is missing is.
        given = {
            key: member
            for key, member in node.value.items()
            if key == "tools" or (key in _KEYS and not _is_empty(member.value))
        }
        said = {key: Text().read(member, f"{where}.{key}", problems) for key, member in given.items()}
        if "rule" not in said:
            problems.add(
                node.line, f"{where} has no `rule`.", "Name a rule, or write a glob such as `date-*`."
            )
        elif isinstance(said["rule"], str) and not any(fnmatchcase(one, said["rule"]) for one in LINT_RULES):
            _known_rule(said["rule"], node.value["rule"].line, f"{where}.rule", problems)
        if "reason" not in said:
            problems.add(
                node.line,
                f"{where} has no `reason`.",
                "Say in a few words why it is ignored: it will be asked.",
            )
        return WRONG if len(problems.found) > before else LintIgnore(**said)
