"""Which servers can go out of a client, since Halflap has them, and why each other one stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from halflap.clients.importing import same_server
from halflap.clients.translate import read_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from halflap.clients.translate import Found
    from halflap.config import ServerConfig
    from halflap.config.expand import Scope

__all__ = ["Choice", "choose"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be done with one server of a client; it stays if there is a reason."""

    found: Found
    reason: str | None = None


def choose(
    found: Iterable[Found], configured: Iterable[ServerConfig], scope: Scope, also: Collection[str] = ()
) -> list[Choice]:
    """Decide of each server; `also` names those that go although Halflap may not be able to sign in to them."""
    servers = list(configured)
    return [Choice(one, _reason(one, servers, scope, also)) for one in found]


def _reason(one: Found, servers: list[ServerConfig], scope: Scope, also: Collection[str]) -> str | None:
    server = None if one.refused is not None else read_entry(one.entry)[0]
    same = [other for other in servers if server is not None and same_server(server, other, scope)]
    if server is None or not same:
        return "Halflap's configuration does not have it, or not like this"
    if not one.off and all(other.disabled for other in same):
        return "in Halflap's configuration it is disabled"
    if one.name in also or one.off:
        return None
    if one.sign_in:
        return f"the client signs in to it by `{one.sign_in}`, which Halflap does not. --also {one.name} moves it too"
    if server.url is not None and not server.headers and _may_ask_to_sign_in(server.url):
        return (
            "it has no headers of its own, so the client may sign in to it, which Halflap does not. If it needs "
            f"no sign-in, --also {one.name} moves it too"
        )
    return None


def _may_ask_to_sign_in(url: str) -> bool:
    """Say whether an address is somebody else's, and has nothing in it that could be a credential."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return True
    is_here = host in {"localhost", "::1"} or host.startswith("127.") or host.endswith(".localhost")
    return not (is_here or parts.username or parts.query)
