"""PostgreSQL, for outages."""

from store.conftest import postgres

__all__ = ["postgres"]
