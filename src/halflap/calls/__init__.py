"""The only path to a tool."""

from halflap.calls.calls import Calls
from halflap.calls.describe import describe
from halflap.calls.policy import Policy
from halflap.calls.record import Recorder, new_id

__all__ = ["Calls", "Policy", "Recorder", "describe", "new_id"]
