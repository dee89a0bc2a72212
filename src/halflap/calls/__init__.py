"""The only path to a tool: policy, validation, recording, sending, for every caller.

`calls` has the path itself; `policy` decides what may be called, `arguments` validates, `trace` and `recorder` write down
what happened, without the secrets that `redact` finds, and `retention` deletes old records. Connections to servers are
in `halflap.upstream`, what is learned from results in `halflap.observe`.
"""

from halflap.calls.arguments import aside
from halflap.calls.breaches import Breaches
from halflap.calls.calls import Calls
from halflap.calls.describe import describe
from halflap.calls.policy import Policy
from halflap.calls.recorder import Recorder, new_id
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
    "configured_secrets",
    "describe",
    "new_id",
]
