"""`halflap token`: create and revoke the tokens of people who share one Halflap over HTTP."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from halflap.cli.command import CONFIG_AND_JSON, Invocation, command, group
from halflap.cli.commands.clients import edit_config, own_config
from halflap.cli.output import Table, note
from halflap.config import token_hash
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from halflap.clients.documents import Document

token = group("token", "List, create and revoke people's tokens for HTTP.", has_default=True)

_PATH = ("http", "tokens")
NameArgument = Annotated[str, Argument(help="The person's name.")]


@command(token, "list", shared=CONFIG_AND_JSON, is_default=True)
def list_people(invocation: Invocation) -> None:
    """List the people who have a token, with their profiles."""
    known = invocation.config().http.tokens
    rows = [{"name": name, "profile": one.profile} for name, one in known.items()]
    table = [(name, one.profile or "") for name, one in known.items()]
    invocation.show(rows, Table(["person", "profile"], table))
    if not rows:
        note("No tokens yet. Create one: halflap token add NAME")


@command(token, "add", shared=CONFIG_AND_JSON)
def add(
    invocation: Invocation,
    name: NameArgument,
    profile: Annotated[str | None, Option("--profile", help="Their profile.")] = None,
    force: Annotated[bool, Option("--force", help="Replace their token.")] = False,
) -> None:
    """Create a token for a person, and print it once.

    Only its hash is stored, in the configuration. A running server accepts the token within two seconds.
    """
    config, own = invocation.config(), own_config(invocation)
    if not re.fullmatch(r"[\w.@-]{1,64}", name):
        raise UsageError(f"{name!r} can't be a person's name. Use up to 64 letters, digits and . @ - _.")
    known = config.http.tokens.get(name)
    if known is not None and not force:
        raise UsageError(f"{name!r} already has a token. Replace it with --force.")
    if profile is not None:
        config.restricted_to(profile)  # raises if it does not exist
    elif known is not None:
        profile = known.profile
    made = secrets.token_urlsafe(32)
    entry = {"hash": token_hash(made)} | ({} if profile is None else {"profile": profile})
    edit_config(own, lambda document: document.put((*_PATH, name), entry))
    data = {"name": name, "token": made, "profile": profile, "file": str(own.file.path)}
    invocation.show(data, [made])
    note(f"This is the token of {name!r}. It is not shown again.")
    if not config.http.tokens:
        note("From now on, HTTP accepts only tokens of people, no longer the token in the data folder.")


@command(token, "remove", shared=CONFIG_AND_JSON)
def remove(invocation: Invocation, name: NameArgument) -> None:
    """Revoke a person's token.

    A running server refuses it within two seconds.
    """
    known, own = invocation.config().http.tokens, own_config(invocation)
    if name not in known:
        raise UsageError(f"There is no {name!r} in `http.tokens`. People: {', '.join(known) or 'none'}.")

    def edit(document: Document) -> None:
        path: tuple[str, ...] = (*_PATH, name)
        while len(path) > 1 and len(document.at(path[:-1])) == 1:
            path = path[:-1]  # an empty mapping would be an error
        document.remove(path)

    edit_config(own, edit)
    data = {"file": str(own.file.path), "name": name, "removed": True}
    invocation.report(data, f"Revoked the token of {name!r}.")
    if len(known) == 1:
        note("It was the last one. HTTP accepts the token in the data folder again.")
