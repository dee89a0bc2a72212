"""`halflap login` and `logout`: sign in to servers with OAuth."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import webbrowser
from typing import TYPE_CHECKING, Annotated

from typer import Option

from halflap.cli.command import Invocation, command
from halflap.cli.commands.servers import NameArgument
from halflap.cli.output import describe_sign_in, note, print_json
from halflap.core.errors import ServerNotFoundError, UsageError
from halflap.core.values import principal_of_person

if TYPE_CHECKING:
    from halflap.upstream import Redirect, SignIn

_SHARED = ("config", "json")
PersonOption = Annotated[
    str | None,
    Option("--for", metavar="NAME", help="Whose sign-in it is, if several people share the gateway."),
]


@command(shared=_SHARED)
async def login(
    invocation: Invocation,
    name: NameArgument,
    person: PersonOption = None,
    browser: Annotated[bool, Option(help="Open the browser; otherwise only print the address.")] = True,
) -> None:
    """Sign in to a server, with your browser.

    Where the browser is on another machine, sign in there and paste the address that it ends at.
    """
    sign_in = _sign_in(invocation, name, person)

    async def show(url: str, redirect: Redirect) -> None:
        if browser and _has_display() and await asyncio.to_thread(webbrowser.open, url):
            note(f"Sign in to {name!r} in your browser. If it did not open:")
        else:
            note(f"Open this address in a browser, and sign in to {name!r}:")
        note(f"\n  {url}\n")
        note("If the browser can't reach this machine, paste the address that it ends at:")
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read_answers, args=(redirect, loop), daemon=True).start()

    credentials = await sign_in.sign_in(show)
    if invocation.as_json:
        print_json({"server": name, **credentials.signed_in.to_json()})
    note(f"Signed in to {name!r}: {describe_sign_in(credentials.signed_in.to_json())}.")


@command(shared=_SHARED)
async def logout(invocation: Invocation, name: NameArgument, person: PersonOption = None) -> None:
    """Sign out of a server: revoke and forget its tokens."""
    was_signed_in = await _sign_in(invocation, name, person).sign_out()
    message = f"Signed out of {name!r}." if was_signed_in else f"You were not signed in to {name!r}."
    invocation.report({"server": name, "signedOut": was_signed_in}, message)


def _sign_in(invocation: Invocation, name: str, person: str | None) -> SignIn:
    from halflap.upstream import SignIn, credential_store

    config = invocation.config()
    server = next((one for one in config.servers if one.name == name), None)
    if server is None:
        raise ServerNotFoundError(name, [one.name for one in config.servers])
    if server.url is None:
        raise UsageError(
            f"{name!r} is a program that Halflap starts; only servers with a `url` have a sign-in."
        )
    if any(header.lower() == "authorization" for header in server.headers):
        raise UsageError(
            f"{name!r} has an `Authorization` header in the configuration. Remove it to sign in."
        )
    if person is not None and person not in config.http.tokens:
        raise UsageError(f"There is no {person!r} in `http.tokens`.")
    principal = "local" if person is None else principal_of_person(person)
    return SignIn(server, principal, credential_store(config))


def _read_answers(redirect: Redirect, loop: asyncio.AbstractEventLoop) -> None:
    """Read pasted addresses until one is the answer; in a thread, which may wait for input forever."""
    for line in sys.stdin:
        if not line.strip():
            continue
        if asyncio.run_coroutine_threadsafe(_accept(redirect, line), loop).result():
            return
        note("This is not the address that the sign-in ended at. It begins with " + redirect.uri)


async def _accept(redirect: Redirect, line: str) -> bool:
    return redirect.accept(line)


def _has_display() -> bool:
    """Without one, a browser for the terminal would be opened."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
