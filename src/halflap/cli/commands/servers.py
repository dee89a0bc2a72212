"""`halflap add`, `remove`, `enable`, `disable`, `trust`, `login` and `logout`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import sys
import threading
import webbrowser
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from halflap.cli.command import CONFIG_AND_JSON, Invocation, command
from halflap.cli.commands.clients import edit_config, own_config
from halflap.cli.options import YesOption, confirm, key_values, resolve
from halflap.cli.output import describe_sign_in, note, one_line, outline, print_json, visible
from halflap.clients.translate import read_entry
from halflap.config import (
    PROJECT_FILES,
    forget_project_file,
    is_halflap,
    preview,
    read_project_file,
    trust_project_file,
)
from halflap.config.expand import PREDEFINED
from halflap.config.servers import SERVER_FORMS
from halflap.core.errors import ClientFileError, ServerNotFoundError, UsageError
from halflap.core.text import join, plural
from halflap.core.values import OWN, principal_of_person

if TYPE_CHECKING:
    from halflap.catalog import Snapshot
    from halflap.clients.documents import Document
    from halflap.clients.imports import OwnConfig
    from halflap.config import Config, ServerConfig
    from halflap.gateway import Gateway
    from halflap.upstream import Redirect, SignIn

_MAX_PART = 20_000
_URL = re.compile(r"https?://", re.IGNORECASE)
_HEADER = re.compile(r"([\w-]+)\s*[:=]\s*(.*)")
_VARIABLE = re.compile(r"(?<!\$)\$\{(?:env:)?(\w+)")
NameArgument = Annotated[str, Argument(help="The server's name.")]
PersonOption = Annotated[str | None, Option("--for", help="The person in http.tokens who signs in or out.")]


@command(shared=CONFIG_AND_JSON)
def add(
    invocation: Invocation,
    name: NameArgument,
    target: Annotated[
        list[str], Argument(metavar="URL | -- COMMAND...", help="Its URL, or the command that starts it.")
    ],
    env: Annotated[
        list[str] | None, Option("--env", "-e", metavar="KEY=VALUE", help="An environment variable.")
    ] = None,
    headers: Annotated[
        list[str] | None, Option("--header", "-H", metavar="NAME: VALUE", help="An HTTP header, for a URL.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a server of the same name.")] = False,
) -> None:
    """Add a server to the configuration.

    Examples: `halflap add time -- uvx mcp-server-time`, `halflap add docs https://mcp.example.com/mcp`.
    """
    own, entry = own_config(invocation), _entry(target, env, headers)
    if name in OWN:
        raise UsageError(f"The name {name!r} is reserved. Choose another.")
    if not re.fullmatch(r"[\w .-]{1,64}", name):
        raise UsageError(f"{name!r} can't be a server's name. Use up to 64 letters, digits, - and _.")
    if name in own.servers and not force:
        raise UsageError(f"Server {name!r} already exists. Choose another name, or use --force.")
    if is_halflap(entry.get("command"), entry.get("args", ())):
        raise UsageError("This command starts Halflap itself.")
    _, problem = read_entry(entry)
    if problem:
        raise UsageError(problem)
    path = _path(own, name) if name in own.servers else ("mcpServers", name)
    edit_config(own, lambda document: document.put(path, entry))
    program = entry.get("command")
    if program and "${" not in program and shutil.which(os.path.expanduser(program)) is None:  # noqa: PTH111 -- not always a path
        note(f"Warning: there is no command {program!r} on this machine. A URL starts with https://.")
    data = {"file": str(own.file.path), "name": name, "entry": entry}
    check = f"Check it: halflap doctor {shlex.quote(name)}"
    invocation.report(data, f"Added {name!r} to {own.file.path}. {check}")


def _entry(target: list[str], env: list[str] | None, headers: list[str] | None) -> dict[str, Any]:
    is_url = len(target) == 1 and _URL.match(target[0])
    if is_url and env:
        raise UsageError("--env is for commands; use --header for a URL.")
    if headers and not is_url:
        raise UsageError("--header is for URLs; use --env for a command.")
    if not is_url and "://" in target[0]:
        raise UsageError(f"{target[0]!r} is not supported: a URL starts with http:// or https://.")
    entry: dict[str, Any] = {"url": target[0]} if is_url else {"command": target[0], "args": target[1:]}
    entry |= {"env": key_values("--env", env or []), "headers": _headers(headers or [])}
    return {key: value for key, value in entry.items() if value}


def _headers(lines: list[str]) -> dict[str, str]:
    """Parse `Name: value`, as curl takes it, or `Name=value`."""
    pairs = [_HEADER.fullmatch(line) for line in lines]
    if None in pairs:
        raise UsageError("--header takes `Name: value`.")  # The value may be a secret.
    return {pair[1]: pair[2] for pair in pairs if pair}


@command(shared=CONFIG_AND_JSON)
def remove(invocation: Invocation, name: NameArgument) -> None:
    """Remove a server from the configuration.

    A backup of the file is kept.
    """
    own = own_config(invocation)
    path = _path(own, name)
    edit_config(own, lambda document: document.remove(path))
    data = {"file": str(own.file.path), "name": name, "removed": True}
    invocation.report(data, f"Removed {name!r} from {own.file.path}.")


@command(shared=CONFIG_AND_JSON)
def enable(invocation: Invocation, name: NameArgument) -> None:
    """Enable a server that is disabled."""
    _switch(invocation, name, disabled=False)


@command(shared=CONFIG_AND_JSON)
def disable(invocation: Invocation, name: NameArgument) -> None:
    """Disable a server but keep its entry."""
    _switch(invocation, name, disabled=True)


def _switch(invocation: Invocation, name: str, *, disabled: bool) -> None:
    own = own_config(invocation)
    path = _path(own, name)

    def edit(document: Document) -> None:
        entry = document.at(path)
        if not isinstance(entry, Mapping):
            raise ClientFileError(
                f"{own.file.path}: the entry of {name!r} is not an object. Correct it first."
            )
        for key in {"enabled", "disabled"} & entry.keys():
            document.remove((*path, key))
        if disabled:
            document.put((*path, "disabled"), value=True)

    word = "disabled" if disabled else "enabled"
    if own.servers[name].disabled is disabled:
        message = f"{name!r} is already {word}."
    else:
        edit_config(own, edit)
        message = f"{word.capitalize()} {name!r} in {own.file.path}."
    invocation.report({"file": str(own.file.path), "name": name, "disabled": disabled}, message)


def _path(own: OwnConfig, name: str) -> tuple[str, str]:
    """Return the keys of a server's entry in the file."""
    if name not in own.servers:
        raise ServerNotFoundError(name, list(own.servers))
    for form in SERVER_FORMS:
        servers = own.document().value.get(form)
        if isinstance(servers, dict) and name in servers:
            return form, name
    raise ClientFileError(f"{own.file.path}: {name!r} is in a list of servers. Change it by hand.")


@command(shared=CONFIG_AND_JSON)
async def trust(
    invocation: Invocation,
    file: Annotated[Path | None, Argument(help="A project file; by default those in this folder.")] = None,
    yes: YesOption = False,
    revoke: Annotated[bool, Option("--revoke", help="Stop trusting the file.")] = False,
    tools: Annotated[
        list[str] | None, Option("--tool", help="Accept this tool's changed definition.")
    ] = None,
) -> None:
    """Trust a project file, so that its servers can start.

    Shows what the file would start, and asks. A file that changes has to be trusted again. With --tool, accepts a
    tool's changed definition instead.
    """
    if tools:
        if file is not None or revoke:
            raise UsageError("--tool can't be combined with a file or --revoke.")
        async with invocation.gateway() as gateway:
            done = await _accept(gateway, tools, yes=yes)
    else:
        done = [_revoke(path) if revoke else _trust(path, yes=yes) for path in _project_files(file)]
    if invocation.as_json:
        print_json(done)


def _project_files(file: Path | None) -> list[Path]:
    names = join(PROJECT_FILES, "or")
    if file is not None and file.name not in PROJECT_FILES:
        raise UsageError(
            f"{file} is not a project file ({names}). Your own configuration needs no trust; pass it with --config."
        )
    found = [Path(name).absolute() for name in PROJECT_FILES if os.path.lexists(name)]
    if file is None and not found:
        raise UsageError(f"There is no {names} in this folder.")
    return found if file is None else [file]


def _revoke(path: Path) -> dict[str, Any]:
    known = forget_project_file(path)
    note(f"{path} {'is no longer trusted' if known else 'was not trusted'}.")
    return {"file": str(path), "state": "new", "revoked": known}


def _trust(path: Path, *, yes: bool) -> dict[str, Any]:
    file = read_project_file(path)
    servers = preview(file)
    done = {"file": str(file.path), "state": "trusted", "servers": [server.name for server in servers]}
    if file.state == "trusted":
        note(f"{file.path} is already trusted.")
        return done
    changed = "has changed. It " if file.state == "changed" else ""
    note(f"{file.path} {changed}would add {plural(len(servers), 'server')}:")
    for server in servers:
        note("\n".join([f"  {one_line(server.name)}", *outline(_effects(server), "    ")]))
    confirm("Trust it?", "Not trusted.", yes=yes)
    trust_project_file(file)
    note("Trusted.")
    return done


def _effects(server: ServerConfig) -> dict[str, Any]:
    """Return everything that a server would do, in full: cut or invisible text could hide something."""
    effects: dict[str, Any] = {
        "runs": None if server.command is None else shlex.join((server.command, *server.args)),
        "connects to": server.url,
        "in folder": server.cwd,
        "with variables of": server.env_file,
        "sets": [f"{name}={shlex.quote(value)}" for name, value in server.env.items()],
        "sends": [f"{name}: {value}" for name, value in server.headers.items()],
        "trusts its annotations": server.trust_annotations or None,
        "disabled": server.disabled or None,
    }
    read = sorted(set(_VARIABLE.findall(f"{effects} {server.args}")) - {*PREDEFINED})
    spelled = {key: visible(one) if isinstance(one, str) else one for key, one in effects.items()}
    spelled |= {key: [visible(one) for one in effects[key]] for key in ("sets", "sends")}
    return {**spelled, "reads your variables": read}


async def _accept(gateway: Gateway, names: list[str], *, yes: bool) -> list[dict[str, Any]]:
    changed = gateway.snapshot.changed
    wanted = [await resolve(gateway, name) for name in dict.fromkeys(names)]
    for name in wanted:
        if name not in gateway.snapshot.prompts:
            gateway.snapshot.find(name)
        if name in changed:
            _show_definition(name, gateway.snapshot)
    if any(name in changed for name in wanted):
        confirm("Accept it?" if len(wanted) == 1 else "Accept them?", "Not accepted.", yes=yes)
    accepted = await gateway.parts.catalog.accept(wanted)
    for name in wanted:
        note(f"{name}: {'accepted' if name in accepted else 'has not changed'}.")
    return [{"tool": name, "accepted": name in accepted} for name in wanted]


def _show_definition(name: str, snapshot: Snapshot) -> None:
    """Show each changed part before and after, with invisible characters escaped."""
    from halflap.catalog import PARTS

    changed, accepted = snapshot.changed[name], snapshot.accepted[name]
    tool = snapshot.tools.get(name) or snapshot.prompts[name]
    now = {
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": asdict(tool.annotations),
    }
    note(f"{name} has changed: {', '.join(changed)}")
    for key in (key for key, word in PARTS.items() if word in changed):
        for word, value in (("was", accepted.get(key)), ("is", now[key])):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            note(f"  {key} {word}: {visible(text[:_MAX_PART])}")


@command(shared=CONFIG_AND_JSON)
async def login(
    invocation: Invocation,
    name: NameArgument,
    person: PersonOption = None,
    browser: Annotated[bool, Option(help="Open the browser, or only print the address.")] = True,
) -> None:
    """Sign in to a server with your browser.

    If the browser is on another machine, sign in there and paste the address that it ends at.
    """
    config = invocation.config()
    if person is not None and person not in config.http.tokens:
        raise UsageError(f"There is no {person!r} in `http.tokens`.")
    sign_in = _sign_in(config, name, person)

    async def show(url: str, redirect: Redirect) -> None:
        if browser and _has_display() and await asyncio.to_thread(webbrowser.open, url):
            note(f"Sign in to {name!r} in your browser. If it did not open, use this address:")
        else:
            note(f"Open this address in a browser, and sign in to {name!r}:")
        note(f"\n  {url}\n")
        note("If the browser can't reach this machine, paste the address that it ends at:")
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read_answers, args=(redirect, loop), daemon=True).start()

    data = (await sign_in.sign_in(show)).to_json()
    invocation.report({"server": name, **data}, f"Signed in to {name!r}: {describe_sign_in(data)}.")


@command(shared=CONFIG_AND_JSON)
async def logout(invocation: Invocation, name: NameArgument, person: PersonOption = None) -> None:
    """Sign out of a server: revoke and delete its tokens."""
    # Also for a person who is no longer in `http.tokens`.
    was_signed_in = await _sign_in(invocation.config(), name, person).sign_out()
    message = f"Signed out of {name!r}." if was_signed_in else f"You were not signed in to {name!r}."
    invocation.report({"server": name, "signedOut": was_signed_in}, message)


def _sign_in(config: Config, name: str, person: str | None) -> SignIn:
    from halflap.upstream import SignIn, credential_store

    server = next((one for one in config.servers if one.name == name), None)
    if server is None:
        raise ServerNotFoundError(name, [one.name for one in config.servers])
    if server.url is None:
        raise UsageError(f"{name!r} is started by a command; only servers with a `url` have a sign-in.")
    if any(header.lower() == "authorization" for header in server.headers):
        raise UsageError(
            f"{name!r} has an `Authorization` header in the configuration. Remove it to sign in."
        )
    principal = "local" if person is None else principal_of_person(person)
    return SignIn(server, principal, credential_store(config))


def _read_answers(redirect: Redirect, loop: asyncio.AbstractEventLoop) -> None:
    """Read pasted addresses until one is accepted; runs in a thread, because it blocks."""

    async def take(line: str) -> bool:
        return redirect.accept(line)

    for line in filter(str.strip, sys.stdin):
        if asyncio.run_coroutine_threadsafe(take(line), loop).result():
            return
        note(f"This is not the address that the sign-in ended at, which begins with {redirect.uri}")


def _has_display() -> bool:
    """Without a display, `webbrowser` would open one in the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
