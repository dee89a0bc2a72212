"""Which servers can go out of a client, since Halflap has them, and why each other one stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from halflap.clients.blocking import held_still, still_on
from halflap.clients.importing import same_server
from halflap.clients.translate import read_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from halflap.clients.translate import Found
    from halflap.config import Scope, ServerConfig, ToolsConfig

__all__ = ["Choice", "choose"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be done with one server of a client; it stays if there is a reason."""

    found: Found
    reason: str | None = None


def choose(
    found: Iterable[Found],
    configured: Iterable[ServerConfig],
    tools: ToolsConfig,
    scope: Scope,
    also: Collection[str] = (),
) -> list[Choice]:
    """Decide of each server; `also` names those that go although Halflap may not be able to sign in to them."""
    servers = list(configured)
    return [Choice(one, _reason(one, servers, tools, scope, also)) for one in found]


def _reason(
    one: Found, servers: list[ServerConfig], tools: ToolsConfig, scope: Scope, also: Collection[str]
) -> str | None:
    server = None if one.refused is not None else read_entry(one.entry)[0]
    same = [other for other in servers if server is not None and same_server(server, other, scope)]
    if server is None or not same:
        return "Halflap's configuration does not have it, or not like this"
    off = _is_off(one, [other for other in same if not other.disabled], tools)
    return off if off or one.name in also else _sign_in(one, server)


def _is_off(one: Found, same: list[ServerConfig], tools: ToolsConfig) -> str | None:
    """Say what is on in only one of the client and Halflap; `same` are those of Halflap's that are on."""
    if not same:
        return "in Halflap's configuration it is disabled"
    if one.off:
        return "it is switched off in the client, and on in Halflap"
    if one.off_in:
        return f"{one.off_in}, and on in Halflap everywhere"
    held = held_still(one.held, tools)
    if held:
        return held[0]
    on = min((still_on(other.name, one.blocked, tools) for other in same), key=len)
    if on:
        return (
            f"{', '.join(on)} {'is' if len(on) == 1 else 'are'} switched off in the client, and on in Halflap"
        )
    return None


def _sign_in(one: Found, server: ServerConfig) -> str | None:
    """Say why Halflap may not be let in where the client is."""
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
