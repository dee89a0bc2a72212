"""Connections to the servers behind Halflap."""

from halflap.upstream.pool import Pool
from halflap.upstream.upstream import Status, Upstream

__all__ = ["Pool", "Status", "Upstream"]
