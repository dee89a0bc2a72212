"""The only path to a tool."""

from halflap.calls.breaches import Breaches, breached_place
from halflap.calls.calls import Calls
from halflap.calls.checks import aside
from halflap.calls.describe import describe
from halflap.calls.policy import Policy
from halflap.calls.record import Recorder, new_id
from halflap.calls.redact import MARK, Redactor, configured_secrets
from halflap.calls.retention import Retention
from halflap.calls.trace import Answered, Observe

__all__ = [
    "MARK",
    "Answered",
    "Breaches",
    "Calls",
    "Observe",
    "Policy",
    "Recorder",
    "Redactor",
    "Retention",
    "aside",
    "breached_place",
    "configured_secrets",
    "describe",
    "new_id",
]
