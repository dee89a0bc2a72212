"""What was found in an examination, in words: what is wrong, and what to do; the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.config import Config

__all__ = ["findings", "summary"]

_NAMED = 3
_PARTS = {
    "servers": "The servers were not all waited for",
    "outputs": "What tools return could not be looked up",
    "edges": "What feeds what could not be worked out",
    "drift": "What drifted could not be looked up",
    "scripts": "The saved scripts could not be read",
    "sandbox": "The sandbox could not be tried",
    "store": "The store could not be looked at",
}


def findings(examined: Mapping[str, Any], config: Config) -> list[dict[str, Any]]:
    """Give every finding: problems, which make it unhealthy, and then hints."""
    found = [
        *_of_store(examined),
        *_of_sandbox(examined, config),
        *_of_parts(examined),
        *(
            one
            for row in examined["servers"]
            for one in _of_server(row, config, interrupted=examined["interrupted"])
        ),
        *_of_project_files(examined),
        *_of_drift(examined),
        *_of_collisions(examined),
        *_of_scripts(examined),
        *(
            _hint("configuration", warning, "Mend it in the file that is named, or leave it.")
            for warning in examined["configurationWarnings"]
        ),
    ]
    if not config.servers:
        found.append(
            _hint(
                "configuration",
                "No server is configured yet.",
                "Name them in a file and pass it with --config; see docs/configuration.md.",
            )
        )
    # Stable: within problems and hints the order is the one above.
    return sorted(found, key=lambda one: one["severity"] != "problem")


def summary(examined: Mapping[str, Any], found: list[dict[str, Any]]) -> str:
    """Say it in a line."""
    servers = [row for row in examined["servers"] if row["state"] != "disabled"]
    problems = [one for one in found if one["severity"] == "problem"]
    needy = {one["server"] for one in problems} - {None}
    others = sum(one["server"] is None for one in problems)
    if examined["interrupted"] and not needy:
        told = "no server is known to need you"
    elif needy:
        told = (
            f"{len(needy)} of {_number(len(servers), 'server')} {'needs' if len(needy) == 1 else 'need'} you"
        )
    elif not servers:
        told = "No server is configured yet" if not examined["servers"] else "Every server is disabled"
    else:
        told = "The server is well" if len(servers) == 1 else f"All {len(servers)} servers are well"
    if others:
        told += (
            f"; {_number(others, 'problem')} besides"
            if needy
            else f"; but there {'is' if others == 1 else 'are'} {_number(others, 'problem')}"
        )
    hints = len(found) - len(problems)
    if examined["interrupted"]:
        told = f"Interrupted; so far, {told}"
    return told + (f"; {_number(hints, 'hint')}" if hints else "")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _finding(severity: str, about: str, what: str, todo: str, server: str | None = None) -> dict[str, Any]:
    return {"severity": severity, "about": about, "server": server, "what": what, "todo": todo}


def _problem(about: str, what: str, todo: str, server: str | None = None) -> dict[str, Any]:
    return _finding("problem", about, what, todo, server)


def _hint(about: str, what: str, todo: str, server: str | None = None) -> dict[str, Any]:
    return _finding("hint", about, what, todo, server)


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _of_store(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    store = examined["store"]
    if store is not None and store["trouble"] is not None:
        yield _problem(
            "store",
            store["trouble"],
            "Nothing is remembered or recorded until it can be written: see to the place, or give another one with "
            "`store.path`.",
        )


def _of_sandbox(examined: Mapping[str, Any], config: Config) -> Iterator[dict[str, Any]]:
    sandbox = examined["sandbox"]
    if sandbox is None or config.execution.sandbox == "off":
        return
    if sandbox["trouble"] is not None:
        yield _problem(
            "sandbox",
            f"No program can run: {sandbox['trouble']}",
            "docs/trust-model.md says what each sandbox needs; `halflap[monty]` runs anywhere; `execution.sandbox: off` "
            "says that you do without.",
        )
    elif sandbox["check"]["trouble"] is not None and config.execution.check != "off":
        yield _hint(
            "sandbox",
            f"Programs are not checked before they run: {sandbox['check']['trouble']}",
            "docs/checking.md says what the check needs.",
        )


def _of_parts(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part, why in examined["unfinished"].items():
        if why != "interrupted":
            yield _problem(
                "examination", f"{_PARTS[part]}: {why}", "Run it again; with --verbose it says more."
            )


def _of_server(row: Mapping[str, Any], config: Config, *, interrupted: bool) -> Iterator[dict[str, Any]]:
    name = row["name"]
    place = next((str(one.source) for one in config.servers if one.name == name and one.source), None)
    where = "the configuration" if place is None else place
    reason = str(row["lastError"] or "it is not ready.")
    said = reason[:1].upper() + reason[1:]
    empty = _some([f"{one['where']} (${{{one['variable']}}})" for one in row["unfilled"]])
    if row["state"] == "needs-sign-in":
        todo = (
            f"{empty} has nothing in it: set the variable where Halflap is started."
            if empty
            else "Get credentials."
        )
        yield _problem("sign-in", said, f"{todo} Its entry is in {where}.", name)
    elif row["state"] in {"idle", "starting", "reconnecting"}:
        yield _finding(
            "hint" if interrupted else "problem",
            "server",
            f"It was still {'starting' if row['state'] != 'idle' else 'to be started'}.",
            f"Run `halflap doctor` again. Its entry is in {where}.",
            name,
        )
    elif row["state"] not in {"ready", "disabled"}:
        look = "Run its command in a terminal" if row["transport"] == "stdio" else "Try its address yourself"
        also = f"{empty} has nothing in it, which may be why. " if empty else ""
        yield _problem("server", said, f"{also}{look} to see more than this. Its entry is in {where}.", name)
    elif empty and row["transport"] != "stdio":
        yield _hint(
            "sign-in", f"{empty} has nothing in it.", "Set the variable, or take the header out.", name
        )
    yield from _of_definitions(row)
    for warning in row["warnings"]:
        yield _hint(
            "server", warning, "Tell whoever wrote the server; its other tools are not concerned.", name
        )
    if row["state"] == "ready" and row["tools"] == 0:
        yield _hint("server", "It offers no tools.", "If you expect some, look at its settings.", name)


def _of_definitions(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    held, changed = row["held"], [name for name in row["changed"] if name not in row["held"]]
    todo = "Look with `halflap inspect NAME`, then accept with `halflap trust --tool NAME`."
    if held:
        what = f"{_number(len(held), 'tool')} held back, since the definition changed: {_some(held)}."
        yield _problem("definitions", what, todo, row["name"])
    if changed:
        what = f"{_number(len(changed), 'definition')} changed since accepted: {_some(changed)}."
        yield _hint("definitions", what, todo, row["name"])


def _of_project_files(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in examined["untrustedProjectFiles"]:
        yield _hint(
            "project-file",
            f"{path} is not trusted, so its servers are left out.",
            "Look at it: `halflap trust`.",
        )


def _of_drift(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tools = list(dict.fromkeys(one["tool"] for one in examined["drift"]))
    if tools:
        yield _hint(
            "drift",
            f"In the last {examined['driftDays']} days, results of {_number(len(tools), 'tool')} broke what was "
            f"declared or learned: {_some(tools)}.",
            "Look with `halflap schema drift`, or `halflap schema show NAME` for one.",
        )


def _of_collisions(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for names in examined["collisions"]["servers"]:
        yield _hint(
            "collision",
            f"The servers {' and '.join(repr(name) for name in names)} look the same in the names of tools.",
            "Their tools are told apart by suffixes. Rename one of them to have plain names.",
        )
    by_server: dict[str, list[str]] = {}
    for one in examined["collisions"]["tools"]:
        owner = one["takenBy"]
        why = (
            "too long, or another's once"
            if owner is None
            else f"the name of {owner['originalName']!r} of {owner['server']!r}"
        )
        by_server.setdefault(one["server"], []).append(
            f"{one['originalName']!r} is called {one['name']} ({one['plainName']} is {why})"
        )
    for server, told in by_server.items():
        yield _hint(
            "collision",
            f"{_number(len(told), 'tool')} could not get the plain name: {_some(told)}.",
            "Nothing has to be done: use the names that they have. `halflap list` shows them.",
            server,
        )


def _of_scripts(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, reason in examined["brokenScripts"].items():
        yield _hint(
            "script",
            f"The script {name!r} cannot be used: {reason}",
            "Mend it and save it: `halflap scripts save`.",
        )
