"""The only path to a tool: policy, validation, recording, sending, for every caller.

`calls` has the path itself; `policy` decides what may be called, `validation` checks arguments and results. The `recorder`
queues records, `redact` removes the secrets from them, and `writer` puts them into the store or, while that fails, into a
journal. `liveness` shows whose runs were interrupted, and `retention` deletes old records. Connections to servers are in
`halflap.upstream`, what is learned from results in `halflap.observe`.
"""

from halflap.calls.calls import Calls, Observe
from halflap.calls.policy import Policy
from halflap.calls.recorder import Recorder, new_id
from halflap.calls.redact import MARK, Redactor, configured_secrets
from halflap.calls.retention import Retention
from halflap.calls.validation import aside
from halflap.calls.writer import Journal, Writer

__all__ = [
    "MARK",
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
    "new_id",
]
