"""Connections to the servers behind Halflap."""

from halflap.upstream.pool import Pool
from halflap.upstream.status import Status
from halflap.upstream.upstream import Upstream

__all__ = ["Pool", "Status", "Upstream"]
