"""Which servers an answer says nothing of, since their tools are not known or they cannot be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.config import Config
    from halflap.gateway import Gateway

__all__ = ["tell", "unheard"]

_SILENT = "it has not answered yet."


def unheard(config: Config, gateway: Gateway) -> tuple[list[str], list[str]]:
    """Give what is to be said of servers whose tools are not known, and of those that cannot be reached now."""
    reasons, listed = gateway.unavailable(), gateway.snapshot.servers
    enabled = [one.name for one in config.servers if not one.disabled]
    missing = [
        f"Server {name!r} is not in it yet: {reasons.get(name, _SILENT)}"
        for name in enabled
        if name not in listed
    ]
    down = [
        f"Server {name!r} is not available: {reasons[name]}"
        for name in enabled
        if name in listed and name in reasons
    ]
    return missing, down


def tell(*notes: Sequence[str]) -> None:
    """Say it to the person, where it does not get into the data."""
    for one in notes:
        for text in one:
            note(text)
