"""Who is signed in to which server."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.config import Config

__all__ = ["sign_ins"]


def sign_ins(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Return the sign-ins by server, as `doctor` and `list` show them. Reads files."""
    if not (config.data_dir / "sign-ins").exists():
        return {}
    # It takes long to import, and few commands need it.
    held = import_module("halflap.upstream").credential_store(config).signed_in()
    found = {
        server.name: [one.to_json() for one in held if one.url == server.url] for server in config.servers
    }
    return {name: rows for name, rows in found.items() if rows}
