"""Lint MCP servers for problems that make their tools hard to compose.

Read `rules/outputs.py` for what a rule looks like and `linter.py` for how rules are applied; `rules.yaml` has the text
and examples of every rule, which docs/lint.md shows. Rules see definitions and what is on record;
only `live.py` asks servers, for their tools.
"""

from halflap.lint.definitions import read_definitions, server_of
from halflap.lint.drafts import Draft, drafts_of
from halflap.lint.ignores import RULES
from halflap.lint.linter import lint
from halflap.lint.report import Finding, Report, ServerReport
from halflap.lint.rule import Rule, rule_texts
from halflap.lint.server import Breach, Evidence, LintServer, LintTool

__all__ = [
    "RULES",
    "Breach",
    "Draft",
    "Evidence",
    "Finding",
    "LintServer",
    "LintTool",
    "Report",
    "Rule",
    "ServerReport",
    "drafts_of",
    "lint",
    "read_definitions",
    "rule_texts",
    "server_of",
]
