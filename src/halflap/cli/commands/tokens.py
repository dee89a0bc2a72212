"""`halflap token`: make and revoke the tokens of the people who share a Halflap over HTTP."""

from __future__ import annotations

import re
import secrets
from typing import Annotated

from typer import Argument, Option

from halflap.cli.command import Invocation, command, group
from halflap.cli.commands.clients import own_config, write_change
from halflap.cli.output import Table, note
from halflap.config import token_hash
from halflap.core.errors import UsageError

token = group("token", "Make and revoke people's tokens for HTTP.")

_SHARED = ("config", "json")
_PATH = ("http", "tokens")
NameArgument = Annotated[str, Argument(help="The person's name.")]


@token.callback(invoke_without_command=True)
@command(shared=_SHARED, default=True)
def people(invocation: Invocation) -> None:
    """List the people who have a token, and their profiles."""
    known = invocation.config().http.tokens
    rows = [{"name": name, "profile": one.profile} for name, one in known.items()]
    table = [(name, one.profile or "") for name, one in known.items()]
    invocation.show(rows, Table(["person", "profile"], table))


@token.command("add")
@command(shared=_SHARED)
def add(
    invocation: Invocation,
    name: NameArgument,
    profile: Annotated[str | None, Option("--profile", metavar="NAME", help="What they may use.")] = None,
    force: Annotated[bool, Option("--force", help="Replace the token that they have.")] = False,
) -> None:
    """Make a token for a person, and print it once.

    The configuration gets its hash. A running server uses it after a second or two.
    """
    config, own = invocation.config(), own_config(invocation)
    if not re.fullmatch(r"[\w.@-]{1,64}", name):
        raise UsageError(f"{name!r} can't be a person's name. Use up to 64 letters, digits and . @ - _.")
    known = config.http.tokens.get(name)
    if known is not None and not force:
        raise UsageError(f"{name!r} has a token already. Replace it with --force.")
    if profile is not None:
        config.restricted_to(profile)  # raises if there is none
    elif known is not None:
        profile = known.profile
    made = secrets.token_urlsafe(32)
    entry = {"hash": token_hash(made)} | ({} if profile is None else {"profile": profile})
    document = own.document()
    document.put((*_PATH, name), entry)
    write_change(own.file, lambda _: document.text, yes=True)
    data = {"name": name, "token": made, "profile": profile, "file": str(own.file.path)}
    invocation.show(data, [made])
    note(
        f"The token of {name!r} is in effect as soon as {own.file.path} is read again. It is not shown again."
    )
    if not config.http.tokens:
        note("From now on, only people with a token get in over HTTP, not the token in the data folder.")


@token.command("remove")
@command(shared=_SHARED)
def remove(invocation: Invocation, name: NameArgument) -> None:
    """Revoke a person's token. A running server refuses it after a second or two."""
    known, own = invocation.config().http.tokens, own_config(invocation)
    if name not in known:
        raise UsageError(f"There is no {name!r} in `http.tokens`. People: {', '.join(known) or 'none'}.")
    document = own.document()
    path: tuple[str, ...] = (*_PATH, name)
    while len(path) > 1 and len(document.at(path[:-1])) == 1:
        path = path[:-1]  # a mapping without a value would be an error
    document.remove(path)
    write_change(own.file, lambda _: document.text, yes=True)
    data = {"file": str(own.file.path), "name": name, "removed": True}
    invocation.report(data, f"Revoked the token of {name!r}.")
    if len(known) == 1:
        note("It was the last one: over HTTP, the token in the data folder counts again.")
