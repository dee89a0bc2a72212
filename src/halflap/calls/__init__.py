"""The only path to a tool: policy, validation, recording, sending, for every caller.

`calls` has the path itself; `policy` decides what may be called, `validation` checks arguments and results, `trace` and
`recorder` write down what happened, without the secrets that `redact` finds; `writer` puts it into the store or, while
that fails, into the `journal`; `liveness` shows whose runs were interrupted, and `retention` deletes old
records. `description` is a tool as `inspect_tool` returns it. Connections to servers are in `halflap.upstream`, what is
learned from results in `halflap.observe`.
"""

from halflap.calls.calls import Calls
from halflap.calls.description import describe
from halflap.calls.journal import Journal
from halflap.calls.policy import Policy
from halflap.calls.recorder import Recorder, new_id
from halflap.calls.redact import MARK, Redactor, configured_secrets
from halflap.calls.retention import Retention
from halflap.calls.trace import Answered, Observe
from halflap.calls.validation import Breaches, aside
from halflap.calls.writer import Writer

__all__ = [
    "MARK",
    "Answered",
    "Breaches",
    "Calls",
    "Journal",
    "Observe",
    "Policy",
    "Recorder",
    "Redactor",
    "Retention",
    "Writer",
    "aside",
    "configured_secrets",
    "describe",
    "new_id",
]
