"""The only path to a tool: policy, validation, recording, sending, for every caller.

Read `calls` first: it is the path itself. `policy` decides what may be called, and `validation` checks arguments and
results. The `recorder` queues records, `redact` removes their secrets, and `writer` writes them to the store or, while that
fails, to a journal. `liveness` tells which runs were interrupted, and `retention` deletes old records. Connections to servers
are in `halflap.upstream`; learning from results is in `halflap.observe`.
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
