"""What was found in an examination, in words: what is wrong, and what to do; the worst first."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.config import Config

__all__ = ["ABOUT", "NO_SERVER_TODO", "Code", "findings", "summary"]

Code = Literal[
    "store-not-writable",
    "sandbox-missing",
    "programs-not-checked",
    "examination-incomplete",
    "sign-in-needed",
    "header-empty",
    "still-starting",
    "misconfigured",
    "command-not-found",
    "command-not-run",
    "process-ended",
    "answered-an-error",
    "not-mcp",
    "answer-unusable",
    "start-timeout",
    "not-reached",
    "certificate-not-accepted",
    "proxy-failed",
    "not-ready",
    "definition-left-out",
    "no-tools",
    "tools-held-back",
    "definitions-changed",
    "file-not-trusted",
    "results-drifted",
    "servers-alike",
    "names-taken",
    "script-broken",
    "program-broken",
    "setting-without-effect",
    "no-server",
]
"""Every kind of finding that there is, each with a row in docs/doctor.md; mypy refuses one that is not listed."""

ABOUT: dict[Code, str] = {
    "store-not-writable": "store",
    "sandbox-missing": "sandbox",
    "programs-not-checked": "sandbox",
    "examination-incomplete": "examination",
    "sign-in-needed": "sign-in",
    "header-empty": "sign-in",
    "still-starting": "server",
    "misconfigured": "server",
    "command-not-found": "server",
    "command-not-run": "server",
    "process-ended": "server",
    "answered-an-error": "server",
    "not-mcp": "server",
    "answer-unusable": "server",
    "start-timeout": "server",
    "not-reached": "server",
    "certificate-not-accepted": "server",
    "proxy-failed": "server",
    "not-ready": "server",
    "definition-left-out": "server",
    "no-tools": "server",
    "tools-held-back": "definitions",
    "definitions-changed": "definitions",
    "file-not-trusted": "project-file",
    "results-drifted": "drift",
    "servers-alike": "collision",
    "names-taken": "collision",
    "script-broken": "script",
    "program-broken": "program",
    "setting-without-effect": "configuration",
    "no-server": "configuration",
}

NO_SERVER_TODO = (
    "`halflap init` takes in those of your clients; or name them in a file and pass it with --config "
    "(docs/configuration.md says how)."
)
_NAMED = 3
_LONGEST_NAME = 80
_PARTS = {
    "servers": "The servers were not all waited for",
    "outputs": "What tools return could not be looked up",
    "edges": "What feeds what could not be worked out",
    "drift": "What drifted could not be looked up",
    "scripts": "The saved scripts could not be read",
    "programs": "The saved DSPy programs could not be read",
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
        *_of_programs(examined),
        *(
            _hint("setting-without-effect", warning, "Mend it in the file that is named, or leave it.")
            for warning in examined["configurationWarnings"]
        ),
    ]
    if not config.servers:
        found.append(_hint("no-server", "No server is configured yet.", NO_SERVER_TODO))
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
        told = {1: "The server is well", 2: "Both servers are well"}.get(
            len(servers), f"All {len(servers)} servers are well"
        )
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


def _finding(severity: str, code: Code, what: str, todo: str, server: str | None = None) -> dict[str, Any]:
    about = ABOUT[code]
    return {
        "severity": severity, "code": code, "about": about, "server": server, "what": what, "todo": todo,
    }  # fmt: skip


def _problem(code: Code, what: str, todo: str, server: str | None = None) -> dict[str, Any]:
    return _finding("problem", code, what, todo, server)


def _hint(code: Code, what: str, todo: str, server: str | None = None) -> dict[str, Any]:
    return _finding("hint", code, what, todo, server)


def _some(names: list[str], *, between: str = ", ") -> str:
    return between.join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _of_store(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    store = examined["store"]
    if store is not None and store["trouble"] is not None:
        yield _problem(
            "store-not-writable",
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
            "sandbox-missing",
            f"No program can run: {sandbox['trouble']}",
            "`pip install 'halflap[monty]'` brings a sandbox that runs anywhere; `execution.sandbox: off` says that you do "
            "without. `halflap explain sandbox` and docs/trust-model.md say more.",
        )
    elif sandbox["check"]["trouble"] is not None and config.execution.check != "off":
        yield _hint(
            "programs-not-checked",
            f"Programs are not checked before they run: {sandbox['check']['trouble']}",
            "What is missing stands there; `execution.check: off` says that you do without. docs/checking.md says more.",
        )


def _of_parts(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part, why in examined["unfinished"].items():
        if why != "interrupted":
            yield _problem(
                "examination-incomplete",
                f"{_PARTS[part]}: {why}",
                "Run it again; with --verbose it says more.",
            )


def _of_server(row: Mapping[str, Any], config: Config, *, interrupted: bool) -> Iterator[dict[str, Any]]:
    name = row["name"]
    entry = next((one for one in config.servers if one.name == name), None)
    where = "the configuration" if entry is None or entry.source is None else str(entry.source)
    command = "" if entry is None else entry.command or ""
    reason = str(row["lastError"] or "it is not ready.")
    said = reason[:1].upper() + reason[1:]
    empty = _some([f"{one['where']} (${{{one['variable']}}})" for one in row["unfilled"]])
    if row["state"] == "needs-sign-in":
        todo = (
            f"{empty} has nothing in it: set the variable where Halflap is started."
            if empty
            else "Get credentials."
        )
        yield _problem("sign-in-needed", said, f"{todo} Its entry is in {where}.", name)
    elif row["state"] in {"idle", "starting", "reconnecting"}:
        yield _finding(
            "hint" if interrupted else "problem",
            "still-starting",
            f"It was still {'starting' if row['state'] != 'idle' else 'to be started'}.",
            f"Run `halflap doctor` again. Its entry is in {where}.",
            name,
        )
    elif row["state"] not in {"ready", "disabled"}:
        also = f"{empty} has nothing in it, which may be why. " if empty else ""
        yield _problem(
            row["trouble"] or "not-ready",
            said,
            f"{also}{_remedy(row, command)} Its entry is in {where}.",
            name,
        )
    elif empty and row["transport"] != "stdio":
        yield _hint(
            "header-empty", f"{empty} has nothing in it.", "Set the variable, or take the header out.", name
        )
    yield from _of_definitions(row)
    warnings = list(dict.fromkeys(row["warnings"]))
    if warnings:
        yield _hint(
            "definition-left-out",
            _some(warnings, between="; "),
            "Tell whoever wrote the server; its other tools are not concerned.",
            name,
        )
    if row["state"] == "ready" and row["tools"] == 0:
        yield _hint("no-tools", "It offers no tools.", "If you expect some, look at its settings.", name)


def _remedy(row: Mapping[str, Any], command: str) -> str:
    """Return what to do about a server that did not get ready."""
    program = next(iter(command.split()), command)
    is_stdio = row["transport"] == "stdio"
    needs = "a variable under `env`" if is_stdio else "one of its `headers`"
    look = "Run its command in a terminal" if is_stdio else "Try its address yourself"
    return {
        "misconfigured": "The other servers work without it.",
        "command-not-found": (
            f"Where `command -v {shlex.quote(program)}` finds it in your terminal, give that full path as `command`: "
            "what starts Halflap may have another PATH. Where it does not, install it."
        ),
        "command-not-run": "Mend what the message names.",
        "not-mcp": (
            "Look in its manual for the command or the option that starts it for stdio; if it listens at an address, "
            "give that as `url` in place of `command`."
        ),
        "certificate-not-accepted": (
            "If your company or a proxy issues such certificates, set SSL_CERT_FILE "
            f"{'(for servers on Node: NODE_EXTRA_CA_CERTS) ' if is_stdio else ''}"
            "where Halflap is started to a file with the certificate of that authority."
        ),
        "proxy-failed": (
            "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY where Halflap is started; hosts that need no proxy belong in "
            "NO_PROXY."
        ),
        "answer-unusable": "Take a newer version of it, or tell whoever wrote it.",
        "answered-an-error": (
            f"These are the server's own words: look in its manual for what it needs, often {needs}."
        ),
    }.get(row["trouble"], f"{look} to see more than this.")


def _of_definitions(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    held, changed = row["held"], [name for name in row["changed"] if name not in row["held"]]
    todo = "Look with `halflap inspect NAME`, then accept with `halflap trust --tool NAME`."
    if held:
        what = f"{_number(len(held), 'tool')} held back, since the definition changed: {_some(held)}."
        yield _problem("tools-held-back", what, todo, row["name"])
    if changed:
        what = f"{_number(len(changed), 'definition')} changed since accepted: {_some(changed)}."
        yield _hint("definitions-changed", what, todo, row["name"])


def _of_project_files(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in examined["untrustedProjectFiles"]:
        yield _hint(
            "file-not-trusted",
            f"{path} is not trusted, so its servers are left out.",
            "Look at it: `halflap trust`.",
        )


def _of_drift(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tools = list(dict.fromkeys(one["tool"] for one in examined["drift"]))
    if tools:
        yield _hint(
            "results-drifted",
            f"In the last {examined['driftDays']} days, results of {_number(len(tools), 'tool')} broke what was "
            f"declared or learned: {_some(tools)}.",
            "Look with `halflap schema drift`, or `halflap schema show NAME` for one.",
        )


def _of_collisions(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for names in examined["collisions"]["servers"]:
        yield _hint(
            "servers-alike",
            f"The servers {' and '.join(repr(name) for name in names)} look the same in the names of tools.",
            "Their tools are told apart by suffixes. Rename one of them to have plain names.",
        )
    by_server: dict[str, list[str]] = {}
    for one in examined["collisions"]["tools"]:
        owner = one["takenBy"]
        why = (
            "too long, or another's once"
            if owner is None
            else f"the name of {_cut(owner['originalName'])!r} of {owner['server']!r}"
        )
        by_server.setdefault(one["server"], []).append(
            f"{_cut(one['originalName'])!r} is called {_cut(one['name'])} ({_cut(one['plainName'])} is {why})"
        )
    for server, told in by_server.items():
        yield _hint(
            "names-taken",
            f"{_number(len(told), 'tool')} could not get the plain name: {_some(told)}.",
            "Nothing has to be done: use the names that they have. `halflap list` shows them.",
            server,
        )


def _cut(name: str) -> str:
    return visible(name, _LONGEST_NAME)


def _of_scripts(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, reason in examined["brokenScripts"].items():
        yield _hint(
            "script-broken",
            f"The script {name!r} cannot be used: {reason}",
            "Mend it and save it: `halflap scripts save`.",
        )


def _of_programs(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if not examined["brokenPrograms"]:
        return
    from halflap.dspy.source import LACKING  # noqa: PLC0415 -- as above

    for name, reason in examined["brokenPrograms"].items():
        yield _hint(
            "program-broken",
            f"The DSPy program {name!r} cannot be used: {reason}",
            "Its folder is in order: see to the servers that have these tools, and it can be used at once."
            if reason.startswith(LACKING)
            else "Mend its folder: docs/dspy-programs.md says what belongs there; `halflap programs reload` says whether it is in order.",
        )
