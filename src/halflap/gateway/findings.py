"""What `halflap doctor` reports. The severity, subject and fix of each code are in halflap/findings.md."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.text import plural, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halflap.config import Config

__all__ = ["NO_SERVER_ADVICE", "SLOW", "findings", "rules", "server_findings", "summary"]

NO_SERVER_ADVICE = (
    "Import servers from your other clients with `halflap init`, or add one: halflap add NAME -- COMMAND"
)
SLOW = "it took more than"
"""How the reason begins where a part of the examination did not end in time."""
_NOT_STARTED = frozenset({"idle", "starting", "reconnecting"})
_MAX_NAMED = 3
_MAX_NAME = 80
_ROW = re.compile(r"^\| `([a-z-]+)` \| (\w+)[^|]* \| `([a-z-]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


class Rule(NamedTuple):
    severity: str
    """`problem` or `hint`."""
    about: str
    fix: str


@cache
def rules() -> dict[str, Rule]:
    """Return the rules by code. Reads a file: call it from a thread the first time."""
    table = files("halflap").joinpath("findings.md").read_text(encoding="utf-8")
    return {
        code: Rule(severity, about, _LINK.sub(r"\1: docs/\2", fix))
        for code, severity, about, fix in _ROW.findall(table)
    }


def findings(examined: Mapping[str, Any], config: Config) -> list[dict[str, Any]]:
    """Return every finding, problems first."""
    found = [
        *_of_parts(examined, config),
        *(
            one
            for row in examined["servers"]
            for one in _of_server(row, config, is_interrupted=examined["interrupted"])
        ),
        *_of_tools(examined),
        *(_finding("setting-without-effect", warning) for warning in examined["configurationWarnings"]),
    ]
    if not config.servers:
        found.append(_finding("no-server", "No server is configured yet."))
    return sorted(found, key=lambda one: one["severity"] != "problem")


def server_findings(rows: Iterable[Mapping[str, Any]], config: Config) -> list[dict[str, Any]]:
    """Return the findings about servers, problems first. One that was not started yet is not a problem."""
    started = [row for row in rows if row["state"] not in _NOT_STARTED]
    found = [one for row in started for one in _of_server(row, config, is_interrupted=False)]
    return sorted(found, key=lambda one: one["severity"] != "problem")


def summary(examined: Mapping[str, Any], found: list[dict[str, Any]]) -> str:
    servers = [row for row in examined["servers"] if row["state"] != "disabled"]
    problems = [one for one in found if one["severity"] == "problem"]
    failing = {one["server"] for one in problems} - {None}
    others = sum(one["server"] is None for one in problems)
    if failing:
        need = "needs" if len(failing) == 1 else "need"
        parts = [f"{len(failing)} of {plural(len(servers), 'server')} {need} attention"]
    elif examined["interrupted"]:
        parts = ["no problem with any server so far"]
    elif not servers:
        parts = ["Every server is disabled" if examined["servers"] else "No server is configured yet"]
    else:
        parts = [f"{plural(len(servers), 'server')} ready"]
    if others:
        parts.append(plural(others, "other problem" if failing else "problem"))
    if len(found) > len(problems):
        parts.append(plural(len(found) - len(problems), "hint"))
    return ("Interrupted: " if examined["interrupted"] else "") + "; ".join(parts)


def _finding(
    code: str,
    what: str,
    server: str | None = None,
    *,
    severity: str | None = None,
    before: str = "",
    after: str = "",
) -> dict[str, Any]:
    rule = rules()[code]
    return {
        "severity": severity or rule.severity,
        "code": code,
        "about": rule.about,
        "server": server,
        "what": what,
        "todo": f"{before}{rule.fix}{after}",
    }


def _of_parts(examined: Mapping[str, Any], config: Config) -> Iterator[dict[str, Any]]:
    store, sandbox = examined["store"], examined["sandbox"]
    if store is not None and store["trouble"] is not None:
        yield _finding("store-not-writable", store["trouble"])
    if sandbox is not None and config.execution.sandbox != "off":
        check = sandbox["check"]["trouble"]
        if sandbox["trouble"] is not None:
            yield _finding("sandbox-missing", f"No program can run: {sandbox['trouble']}")
        elif check is not None and config.execution.check != "off":
            yield _finding("programs-not-checked", f"Programs are not checked before they run: {check}")
    for part, why in examined["unfinished"].items():
        if why != "interrupted":
            severity = "hint" if why.startswith(SLOW) else None
            yield _finding("examination-incomplete", f"{part}: {why}", severity=severity)


def _of_server(row: Mapping[str, Any], config: Config, *, is_interrupted: bool) -> Iterator[dict[str, Any]]:
    name, state = row["name"], row["state"]
    entry = next((one for one in config.servers if one.name == name), None)
    source = None if entry is None else entry.source
    where = f" Its entry is in {source or 'the configuration'}."
    reason = str(row["lastError"] or "it is not ready.")
    if reason.partition(" ")[0].isalpha():  # not the name of a setting
        reason = reason[:1].upper() + reason[1:]
    empty = _some(f"{one['where']} (${{{one['variable']}}})" for one in row["unfilled"])
    hint = f"{empty} is empty, which may be the cause. " if empty else ""
    if state in _NOT_STARTED:
        severity = "hint" if is_interrupted else None
        yield _finding("still-starting", "It was still starting.", name, severity=severity, after=where)
    elif state not in {"ready", "disabled"}:
        code = "sign-in-needed" if state == "needs-sign-in" else row["trouble"] or "not-ready"
        yield _finding(code, reason, name, before=hint, after=where)
    elif empty and row["transport"] != "stdio":
        yield _finding("header-empty", f"{empty} is empty.", name)
    changed = [one for one in row["changed"] if one not in row["held"]]
    for code, names in (("tools-held-back", row["held"]), ("definitions-changed", changed)):
        if names:
            what = f"{plural(len(names), 'definition')} changed since accepted: {_some(names)}."
            yield _finding(code, what, name)
    if row["warnings"]:
        yield _finding("definition-left-out", _some(dict.fromkeys(row["warnings"]), between="; "), name)
    if state == "ready" and row["tools"] == 0:
        yield _finding("no-tools", "It offers no tools.", name)


def _of_tools(examined: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path in examined["untrustedProjectFiles"]:
        yield _finding("file-not-trusted", f"{path} is not trusted, so its servers are not used.")
    if drifted := list(dict.fromkeys(one["tool"] for one in examined["drift"])):
        what = (
            f"In the last {examined['driftDays']} days, results of {plural(len(drifted), 'tool')} broke what was declared "
            f"or learned: {_some(drifted)}."
        )
        yield _finding("results-drifted", what)
    for names in examined["collisions"]["servers"]:
        servers = " and ".join(map(repr, names))
        yield _finding("servers-alike", f"The servers {servers} look the same in tool names.")
    renamed: dict[str, list[str]] = {}
    for tool in examined["collisions"]["tools"]:
        shown = f"{visible(tool['originalName'], _MAX_NAME)!r} is {visible(tool['name'], _MAX_NAME)}"
        renamed.setdefault(tool["server"], []).append(shown)
    for server, names in renamed.items():
        what = f"{plural(len(names), 'tool')} could not get the plain name: {_some(names)}."
        yield _finding("names-taken", what, server)
    for name, reason in examined["brokenScripts"].items():
        yield _finding("script-broken", f"The script {name!r} cannot be used: {reason}")
    for name, reason in examined["brokenPrograms"].items():
        yield _finding("program-broken", f"The DSPy program {name!r} cannot be used: {reason}")


def _some(names: Iterable[str], *, between: str = ", ") -> str:
    every = list(names)
    more = f" and {len(every) - _MAX_NAMED} more" if len(every) > _MAX_NAMED else ""
    return between.join(every[:_MAX_NAMED]) + more
