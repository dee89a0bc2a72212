"""Whether a server's tools can be composed, and what to do where they cannot."""

from halflap.lint.definitions import listed_again, read_definitions, server_of
from halflap.lint.linting import lint
from halflap.lint.report import Finding, Report, ServerReport
from halflap.lint.rule import Rule
from halflap.lint.rules import RULES
from halflap.lint.rules.forms import tells_of_failure
from halflap.lint.server import Breach, Seen, Server, read_server
from halflap.lint.suggest import Draft, drafts_of

__all__ = [
    "RULES",
    "Breach",
    "Draft",
    "Finding",
    "Report",
    "Rule",
    "Seen",
    "Server",
    "ServerReport",
    "drafts_of",
    "lint",
    "listed_again",
    "read_definitions",
    "read_server",
    "server_of",
    "tells_of_failure",
]
