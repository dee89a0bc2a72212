"""`halflap init`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.changing import may_write, show_difference
from halflap.cli.hiding import secrets_of
from halflap.cli.output import ConfigOption, JsonOption, note, one_line, print_json, reported
from halflap.clients import (
    Additions,
    arrange,
    back_up,
    backups,
    digests_of,
    gather,
    has_its_name,
    imported,
    may_be_itself,
    places,
    read_entry,
    read_written,
    remember_imported,
    replace_file,
    with_additions,
)
from halflap.config import (
    FAMILIES,
    Config,
    Scope,
    user_config_dir,
    user_data_dir,
    user_file,
    working_folder,
)
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halflap.clients import Addition, Found, Gathered, Import, Written

__all__ = ["init"]

_HERE = "it is on this machine, at /mcp, where Halflap itself may be"
_NAMED = "by its name, it is Halflap itself"


@reported
def init(
    config: ConfigOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")] = False,
    only_show: Annotated[
        bool, typer.Option("--print", "--dry-run", help="Only show what would be written.")
    ] = False,
    project: Annotated[
        bool | None,
        typer.Option(
            "--project/--no-project",
            help="Whether to take in what this folder's files name. By default yes, but not with --yes.",
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        list[str] | None,
        typer.Option(
            "--family", metavar="NAME", help="A family of Halflap's tools to offer; by default core."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Take in once more what was taken in before and is gone since.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="NAME",
            help="A server to take in although it may be Halflap itself.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Take the MCP servers of your other clients into one configuration of Halflap's.

    Looks at what Claude Code, Claude Desktop, Cursor, VS Code and Windsurf have, shows what it would write, and
    asks. The clients' own files stay as they are. Run it again at any time: it only adds what is new.
    """
    scope = Scope.of(os.environ, working_folder())
    target = user_file(config, scope)[0] or user_config_dir() / "config.yaml"
    there = read_written(target)
    asked = _families(families, there)
    with_project = project if project is not None else not yes
    gathered = _gathered(target, scope, with_project=with_project)
    servers = _less_itself(gathered.servers, also or ())
    _tell_found(gathered, scope, left_out=not with_project and project is None)
    known = frozenset() if again or there.root is None else imported(user_data_dir(), target)
    plan = arrange(
        servers,
        there.servers,
        scope,
        home=scope.home,
        imported=known,
        families=asked,
        tools=there.tools,
    )
    _tell(plan, scope)
    is_there = there.root is not None
    if not plan.additions.servers and (asked is None or not is_there):
        note(
            f"Nothing is new: {target} stays as it is."
            if is_there
            else "None of these servers can be taken in: nothing was written."
            if gathered.servers
            else "There is no MCP server to take in. docs/configuration.md of Halflap says how to name some."
        )
        written = False
    else:
        written = _write(target, there, plan, yes=yes, only_show=only_show, shown=not as_json)
    if as_json:
        print_json(_report(target, plan, gathered, written=written))


def _families(asked: list[str] | None, written: Written) -> tuple[str, ...] | None:
    """Say which families are to be written; None leaves what is there."""
    for name in asked or ():
        if name not in FAMILIES:
            raise UsageError(f"There is no family of tools named {name!r}. There are: {', '.join(FAMILIES)}.")
    wanted = tuple(dict.fromkeys(asked or ("core",)))
    if written.root is None:
        return wanted
    if not asked:
        return None
    if not written.has("server"):
        return wanted
    server = written.root["server"]
    if not isinstance(server, Mapping) or tuple(server.get("families") or ()) != wanted:
        raise UsageError(
            "The configuration has a section `server` already, which is yours: write its `families` there. "
            "Nothing was written."
        )
    return None


def _less_itself(servers: Sequence[Found], also: Sequence[str]) -> list[Found]:
    """Keep out what may be Halflap itself, unless it was named."""
    unknown = sorted(set(also) - {one.name for one in servers})
    if unknown:
        raise UsageError(
            f"--also: no client has a server {', '.join(map(repr, unknown))}. Nothing was written."
        )
    found = []
    for one in servers:
        why = _HERE if may_be_itself(one.entry) else _NAMED if has_its_name(one.name, one.entry) else ""
        is_kept_out = bool(why) and one.name not in also
        said = f"{why}. If it is another: --also {one.name}"
        found.append(replace(one, entry={}, refused=said) if is_kept_out else one)
    return found


def _gathered(target: Path, scope: Scope, *, with_project: bool) -> Gathered:
    wanted = [
        place
        for place in places(sys.platform, os.environ, working_folder())
        if (with_project or place.folder is None) and place.file != target
    ]
    return gather(wanted, scope)


def _tell_found(gathered: Gathered, scope: Scope, *, left_out: bool) -> None:
    for problem in gathered.unreadable:
        note(f"Left out: {problem.removesuffix(' Nothing was written.')} None of its servers is taken in.")
    for problem in gathered.repeated:
        note(f"Note: {problem}")
    counts = Counter(found.place.said(scope.home) for found in gathered.servers)
    for where, count in counts.items():
        note(f"Found {'1 server' if count == 1 else f'{count} servers'}: {where}")
    for place in gathered.looked_at:
        if not any(found.place.file == place.file for found in gathered.servers):
            note(f"Found no server: {place.said(scope.home)}")
    if left_out:
        note("This folder's own files were not looked at: with --yes, that takes --project too.")


def _tell(plan: Import, scope: Scope) -> None:
    for found in plan.kept_out:
        note(f"Kept out: {found.label} of {found.place.said(scope.home)}: {found.refused}")
    for found in plan.earlier:
        note(
            f"Left as you have it: {found.label} of {found.place.said(scope.home)} was taken in before, and "
            "changed or taken out since. (--again takes it in once more.)"
        )
    for text in plan.notes:
        note(f"Note: {text}")
    new = [taken.found for taken in plan.taken if taken.new]
    about = sorted({key for found in new for key in found.about_client})
    if about:
        note(f"Not taken along, being about the client alone: {', '.join(about)}.")


def _write(target: Path, there: Written, plan: Import, *, yes: bool, only_show: bool, shown: bool) -> bool:
    """Show the change, ask, keep a copy of what was there, and write."""
    before = there.file
    text = None if before.data is None else before.text
    after = with_additions(target, text, plan.additions)
    secrets = {one.name: _secrets(one) for one in plan.additions.servers}
    if shown:
        new = [read_entry(one.entry)[0] for one in plan.additions.servers]
        every = (*there.servers.values(), *(server for server in new if server is not None))
        show_difference(target, text, after, secrets_of(every))
    named = [name for name, values in secrets.items() if values]
    if named:
        note(
            f"Secrets stand in the clear in: {', '.join(map(one_line, named))}. They are kept, in a file for you alone; "
            "better is a variable: write ${NAME} in their place, and set NAME."
        )
    if only_show:
        note("Nothing was written.")
        return False
    may_write(f"Write {target}?", yes=yes)
    if before.data is not None:
        kept = back_up(before, backups(user_data_dir()), target.name)
        note(f"What was there is kept in {kept}.")
    mode = before.mode & 0o700 if named else before.mode
    replace_file(replace(before, mode=mode), after.encode())
    remember_imported(user_data_dir(), target, [one for taken in plan.taken for one in digests_of(taken)])
    note(f"Written: {target}")
    note(
        "Next: `halflap doctor` says how the servers are; `halflap install CLIENT` puts Halflap into a client."
    )
    return True


def _secrets(addition: Addition) -> list[str]:
    from halflap.calls import configured_secrets  # noqa: PLC0415 -- much is loaded with it

    server, _ = read_entry(addition.entry)
    found = configured_secrets(Config(servers=() if server is None else (server,)))
    return [value for value in found if "${" not in value]


def _report(target: Path, plan: Import, gathered: Gathered, *, written: bool) -> dict[str, Any]:
    additions: Additions = plan.additions
    return {
        "file": str(target),
        "written": written,
        "added": [
            {"name": one.name, "disabled": one.entry.get("disabled") is True, "comments": list(one.comments)}
            for one in additions.servers
        ],
        "present": [
            {"name": taken.name, "client": taken.found.place.client.slug, "file": str(taken.found.place.file)}
            for taken in plan.taken
            if not taken.new
        ],
        "left": [found.name for found in plan.earlier],
        "kept_out": [{"name": found.name, "reason": found.refused} for found in plan.kept_out],
        "unreadable": list(gathered.unreadable),
        "notes": [*gathered.repeated, *plan.notes],
    }
