"""The findings of `halflap doctor`. The severity, subject and fix of each code are in halflap/findings.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.text import plural, visible

if TYPE_CHECKING:
    from halflap.config import Config

NO_SERVER_ADVICE = (
    "Import servers from your other clients with `halflap init`, or add one: halflap add NAME -- COMMAND"
)
_NOT_STARTED = frozenset({"idle", "starting", "reconnecting"})
_NOT_CONTACTED = frozenset(
    {"command-not-found", "command-not-run", "not-reached", "certificate-not-accepted", "proxy-failed"}
)
"""Troubles that an empty variable cannot have caused: the server did not get to see any."""
_MAX_NAMED = 3
_MAX_NAME = 80
_ROW = re.compile(r"^\| `([a-z-]+)` \| (\w+) \| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class Rule(NamedTuple):
    severity: str
    """`problem` or `hint`."""
    about: str
    cause: str
    fix: str


class Finding(NamedTuple):
    code: str
    what: str
    server: str | None = None
    before: str = ""
    """Advice before the rule's fix; `after` comes after it."""
    after: str = ""

    def to_json(self) -> dict[str, Any]:
        rule = rules()[self.code]
        todo = " ".join(filter(None, (self.before, rule.fix, self.after)))
        about = {"severity": rule.severity, "code": self.code, "about": rule.about}
        return {**about, "server": self.server, "what": self.what, "todo": todo}


@cache
def rules() -> dict[str, Rule]:
    """Return the rules by code. The first call reads a file: make it in a thread."""
    table = files("halflap").joinpath("findings.md").read_text(encoding="utf-8")
    return {
        code: Rule(severity, about, cause, _LINK.sub(r"\1", fix))
        for code, severity, about, cause, fix in _ROW.findall(table)
    }


def findings(examined: Mapping[str, Any], config: Config) -> list[dict[str, Any]]:
    """Return every finding, problems first."""
    of_servers = (one for row in examined["servers"] for one in _of_server(row, config))
    return _sorted([*_of_parts(examined, config), *of_servers, *_of_tools(examined)])


def server_findings(rows: Iterable[Mapping[str, Any]], config: Config) -> list[dict[str, Any]]:
    """Return the findings about servers that were started, problems first."""
    started = (row for row in rows if row["state"] not in _NOT_STARTED)
    return _sorted(one for row in started for one in _of_server(row, config))


def _sorted(found: Iterable[Finding]) -> list[dict[str, Any]]:
    return sorted((one.to_json() for one in found), key=lambda one: one["severity"] != "problem")


def summary(examined: Mapping[str, Any], found: list[dict[str, Any]]) -> str:
    servers = [row for row in examined["servers"] if row["state"] != "disabled"]
    problems = [one for one in found if one["severity"] == "problem"]
    failing = {one["server"] for one in problems} - {None}
    others = sum(one["server"] is None for one in problems)
    if failing:
        need = "needs" if len(failing) == 1 else "need"
        parts = [f"{len(failing)} of {plural(len(servers), 'server')} {need} attention"]
    elif not servers:
        parts = ["Every server is disabled" if examined["servers"] else "No server is configured yet"]
    else:
        parts = [f"{plural(len(servers), 'server')} ready"]
    if others:
        parts.append(plural(others, "other problem" if failing else "problem"))
    if len(found) > len(problems):
        parts.append(plural(len(found) - len(problems), "hint"))
    return ("Interrupted: " if examined["interrupted"] else "") + "; ".join(parts)


def _of_parts(examined: Mapping[str, Any], config: Config) -> Iterator[Finding]:
    store, sandbox = examined["store"], examined["sandbox"]
    if not config.servers:
        yield Finding("no-server", "No server is configured yet.")
    if store is not None and store["trouble"] is not None:
        yield Finding("store-not-writable", store["trouble"])
    if store is not None and store["journalBytes"]:
        lost = f" {store['lostRecords']} more were lost." if store["lostRecords"] else ""
        what = f"{store['journalBytes']:,} bytes of runs and calls are not in the store yet.{lost}"
        yield Finding("records-waiting", what)
    if sandbox is not None and config.execution.sandbox != "off":
        check = sandbox["check"]["trouble"]
        if sandbox["trouble"] is not None:
            yield Finding("sandbox-missing", f"No program can run: {sandbox['trouble']}")
        elif check is not None and config.execution.check != "off":
            yield Finding("programs-not-checked", f"Programs are not checked before they run: {check}")
    for part, why in examined["unfinished"].items():
        yield Finding("examination-incomplete", f"{part}: {why}")
    for path in examined["untrustedProjectFiles"]:
        yield Finding("file-not-trusted", f"{path} is not trusted, so its servers are not used.")
    for warning in examined["configurationWarnings"]:
        yield Finding("setting-without-effect", warning)


def _of_server(row: Mapping[str, Any], config: Config) -> Iterator[Finding]:
    name, state = row["name"], row["state"]
    empty = _some(f"{one['where']} (${{{one['variable']}}})" for one in row["unfilled"])
    if state in _NOT_STARTED:
        yield Finding("still-starting", "It was still starting.", name)
    elif state not in {"ready", "disabled"}:
        code = "sign-in-needed" if state == "needs-sign-in" else row["trouble"] or "not-ready"
        reason = str(row["lastError"] or "it is not ready.")
        if reason.partition(" ")[0].isalpha():  # not the name of a setting
            reason = reason[:1].upper() + reason[1:]
        source = next((one.source for one in config.servers if one.name == name), None)
        where = f"Its entry is in {source or 'the configuration'}."
        may_matter = empty and code not in _NOT_CONTACTED
        hint = f"{empty} is empty, which may be the cause." if may_matter else ""
        yield Finding(code, reason, name, hint, where)
    elif empty and row["transport"] != "stdio":
        yield Finding("header-empty", f"{empty} is empty.", name)
    changed = [one for one in row["changed"] if one not in row["held"]]
    for code, names in (("tools-held-back", row["held"]), ("definitions-changed", changed)):
        if names:
            what = f"{plural(len(names), 'definition')} changed since accepted: {_some(names)}."
            yield Finding(code, what, name)
    if row["warnings"]:
        yield Finding("definition-left-out", _some(dict.fromkeys(row["warnings"]), between="; "), name)
    if state == "ready" and row["tools"] == 0:
        yield Finding("no-tools", "It offers no tools.", name)


def _of_tools(examined: Mapping[str, Any]) -> Iterator[Finding]:
    if drifted := list(dict.fromkeys(one["tool"] for one in examined["drift"])):
        what = f"Recent results of {plural(len(drifted), 'tool')} broke what was declared or learned: {_some(drifted)}."
        yield Finding("results-drifted", what)
    renamed: dict[str, list[str]] = {}
    for tool in examined["collisions"]:
        shown = f"{visible(tool['originalName'], _MAX_NAME)!r} is {visible(tool['name'], _MAX_NAME)}"
        renamed.setdefault(tool["server"], []).append(shown)
    for server, names in renamed.items():
        what = f"{plural(len(names), 'tool')} could not get the plain name: {_some(names)}."
        yield Finding("names-taken", what, server)
    for name, reason in examined["brokenScripts"].items():
        yield Finding("script-broken", f"The script {name!r} cannot be used: {reason}")
    for name, reason in examined["brokenPrograms"].items():
        yield Finding("program-broken", f"The DSPy program {name!r} cannot be used: {reason}")


def _some(names: Iterable[str], *, between: str = ", ") -> str:
    every = list(names)
    more = f" and {len(every) - _MAX_NAMED} more" if len(every) > _MAX_NAMED else ""
    return between.join(every[:_MAX_NAMED]) + more
