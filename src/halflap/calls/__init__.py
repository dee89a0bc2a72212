"""The only path to a tool: policy, validation, recording, sending, for every caller.

`calls` has the path itself; `policy` decides what may be called, `validation` checks arguments and results, `trace` and
`recorder` write down what happened, without the secrets that `redact` finds, `liveness` shows whose runs were
interrupted, and `retention` deletes old records. `description` is a tool as `inspect_tool` returns it. Connections to
servers are in `halflap.upstream`, what is learned from results in `halflap.observe`.
"""

from halflap.calls.calls import Calls
from halflap.calls.description import describe
from halflap.calls.policy import Policy
from halflap.calls.recorder import Recorder, new_id
from halflap.calls.redact import MARK, Redactor, configured_secrets
from halflap.calls.retention import Retention
from halflap.calls.trace import Answered, Observe
from halflap.calls.validation import Breaches, aside

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
