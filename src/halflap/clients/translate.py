"""A client's entry of a server, in Halflap's words: what is the same, what differs, what there is no such thing for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.clients.blocking import ALLOWING, BLOCKING, kind_of, names_in, odd_switches
from halflap.clients.jsontext import broken_text
from halflap.config import UpstreamDefaults, expand, is_halflap
from halflap.config.problems import Problems, show
from halflap.config.servers import ALIASES, IGNORED_KEYS, WITHOUT_EFFECT, ServerReader
from halflap.config.source_lines import source_of

if TYPE_CHECKING:
    from halflap.clients.places import Place
    from halflap.config import Scope, ServerConfig

__all__ = ["Found", "has_its_name", "is_itself", "may_be_itself", "read_entry", "starts_itself", "translate"]

_WRITTEN = ("type", "command", "args", "env", "envFile", "cwd", "url", "headers")
_FOR_COMMANDS = ("command", "args", "env", "envFile", "cwd")
_SIGNING_IN = ("auth", "oauth", "headersHelper")
_SANDBOX = ("sandbox", "sandboxEnabled")
_CONFINED = "and Halflap does not confine servers"
_PIECE = re.compile(r"\$\{([^}]*)\}|\$\{")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OF_HALFLAP = re.compile(r"(?P<name>(?:env:)?[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?\Z", re.DOTALL)
_NOT_EMPTY = ("command", "cwd", "envFile", "url")
"""Keys that must say something once their variables are expanded."""
_HERE = re.compile(r"https?://(?:127\.[\d.]+|localhost|\[::1\])(?::\d+)?/mcp/?\Z", re.IGNORECASE)
_SAME = frozenset({"userHome", "pathSeparator", "/"})
_FOLDERS = frozenset({"workspaceFolder", "workspaceFolderBasename"})
_OF_EDITORS = re.compile(
    r"(?:column|line)Number|cwd|defaultBuildTask|execPath|selectedText|relativeFile(?:Dirname)?"
    r"|file(?:Basename(?:NoExtension)?|Dirname(?:Basename)?|Extname|WorkspaceFolder(?:Basename)?)?"
)
"""What VS Code has beside those."""
_ON_AGAIN = "take `disabled` out if it is to be on"


@dataclass(frozen=True, slots=True)
class Found:
    """A server of a client, and what it is as a server of Halflap's."""

    name: str
    place: Place
    entry: Mapping[str, Any] = field(default_factory=dict)
    """As it is to be written; empty if it is kept out."""
    remarks: tuple[str, ...] = ()
    """What is not as it was, or is to be done; written beside it, and said."""
    about_client: tuple[str, ...] = ()
    """The keys that are about the client alone."""
    blocked: tuple[str, ...] = ()
    """Its tools that the person switched off."""
    refused: str | None = None
    """Why it is kept out."""
    off: bool = False
    """The person switched it off in the client."""
    held: Mapping[str, str] = field(default_factory=dict)
    """What else says that it, or a part of it, is not on in the client, by its key."""
    sign_in: str = ""
    """The key by which the client signs in to it, which Halflap does not."""
    off_in: str = ""
    """What says that it is off in some project alone, where there is such a thing."""
    itself: bool = False
    """It starts Halflap."""

    @property
    def label(self) -> str:
        """What it is called where it is told of."""
        return f"`{show(self.name)}`" if self.name.strip() else "a server without a name"

    @property
    def disabled(self) -> bool:
        """Say whether it is written as disabled."""
        return self.entry.get("disabled") is True

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is written as disabled, where that is not what the person chose."""
        return tuple(remark for remark in self.remarks if remark.startswith("disabled: "))

    def disable(self, why: str) -> Found:
        """Have it written, but not started."""
        return replace(self, entry={**self.entry, "disabled": True}, remarks=(*self.remarks, why))


def is_itself(name: str, raw: Any) -> bool:
    """Say whether a client's entry is Halflap: by its command, or by its name where it is reached by a URL."""
    return starts_itself(raw) or has_its_name(name, raw)


def starts_itself(raw: Any) -> bool:
    """Say whether a client's entry starts Halflap."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("command"), str):
        return False
    command, args = raw["command"], raw.get("args")
    words = [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []
    return is_halflap(command, words)


def has_its_name(name: str, raw: Any) -> bool:
    """Say whether an entry is reached by a URL, and is Halflap by its name; there is no other way to tell."""
    if not isinstance(raw, Mapping) or isinstance(raw.get("command"), str) or name.lower() != "halflap":
        return False
    return any(key in raw for key in ("url", "serverUrl", "httpUrl"))


def may_be_itself(entry: Mapping[str, Any]) -> bool:
    """Say whether a server is reached where Halflap is, if it runs by itself: on this machine, at /mcp."""
    words = [entry.get("url", ""), *entry.get("args", ())]
    return any(isinstance(word, str) and _HERE.match(word) for word in words)


def translate(
    name: str,
    raw: Any,
    place: Place,
    scope: Scope,
    *,
    inputs: Any = None,
    disabled: bool = False,
    held: Mapping[str, str] | None = None,
) -> Found:
    """Give a client's server as it would be written; `disabled` and `held` are what the client says elsewhere."""
    if broken_text(name):
        return Found(name, place, refused="its name holds half a surrogate pair, which is no character.")
    if not isinstance(raw, Mapping):
        return Found(name, place, refused="its entry is no object")
    work = _Translation(place, scope, inputs if isinstance(inputs, list) else [])
    for key, said in {**(held or {}), **odd_switches(raw)}.items():
        work.hold(key, said, _ON_AGAIN)
    try:
        entry = work.entry(raw)
    except _Refusal as refusal:
        return Found(name, place, refused=str(refusal))
    off = disabled or raw.get("disabled") is True or raw.get("enabled") is False
    if off:
        entry["disabled"] = True
    work.settle_variables(entry)
    found = Found(
        name, place, entry, tuple(work.remarks), tuple(work.about_client), tuple(work.blocked), off=off
    )
    found = replace(found, held=work.held, sign_in=next((key for key in _SIGNING_IN if raw.get(key)), ""))
    if work.lacking and not off:
        found = found.disable(f"disabled: {'; '.join(dict.fromkeys(work.lacking))}")
    elif work.lacking:
        found = replace(found, remarks=(*found.remarks, *dict.fromkeys(work.lacking)))
    server, problem = read_entry(found.entry)
    if server is None:
        return Found(name, place, refused=problem)
    # One that cannot be used yet is written, but disabled, so that nobody is told of it at every start.
    server, problem = read_entry(found.entry, scope)
    return found if server is not None else found.disable(f"disabled: {problem}")


def read_entry(entry: Mapping[str, Any], scope: Scope | None = None) -> tuple[ServerConfig | None, str]:
    """Read an entry as the configuration would, or say what is wrong; without a scope `${…}` stays as written."""
    problems = Problems()
    source = source_of({"mcpServers": {"server": dict(entry)}}, problems)
    servers = ServerReader(source, Path("/"), problems, scope, UpstreamDefaults()).read()
    if servers and not problems.found and servers[0].broken is None:
        return servers[0], ""
    said = " ".join([*map(str, problems.found), *(server.broken or "" for server in servers)])
    return None, said.replace("mcpServers.server.", "").replace("mcpServers.server", "it")


class _Refusal(Exception):  # noqa: N818 - never leaves this module
    pass


@dataclass(slots=True)
class _Translation:
    place: Place
    scope: Scope
    inputs: list[Any]
    remarks: list[str] = field(default_factory=list)
    about_client: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    """Why it would not start, or not as it was."""
    blocked: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)
    """The variables that have to be set for it to be as it was."""

    def hold(self, key: str, said: str, advice: str) -> None:
        """Have it not start, since something of it is not on in the client."""
        self.held[key] = said
        self.lacking.append(f"{said}: {advice}")

    def settle_variables(self, entry: dict[str, Any]) -> None:
        """Have no variable that is missing later keep the whole configuration from being read, and name them."""
        nothing = replace(self.scope, environ={})
        for key in _NOT_EMPTY:
            alone = {"command": "x", key: entry.get(key)} if key != "url" else {key: entry.get(key)}
            if isinstance(entry.get(key), str) and read_entry(alone, nothing)[0] is None:
                entry[key] = re.sub(r"(?<!\$)\$\{(\w+):-\}", self._with_value, entry[key])
        if not self.needed:
            return
        names = list(dict.fromkeys(self.needed))
        missing = [name for name in names if not self.scope.environ.get(name)]
        which = "variable" if len(names) == 1 else "variables"
        also = f": {', '.join(missing)}" if missing != names else ""
        also = f" (not set here{also})" if missing else ""
        self.remarks.append(
            f"it reads the {which} {', '.join(names)}{also}: to be set where the client starts Halflap"
        )

    def _with_value(self, match: re.Match[str]) -> str:
        value = self.scope.environ.get(match[1], "")
        return match[0] if "}" in value else f"${{{match[1]}:-{value}}}"

    def entry(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        said = {ALIASES.get(key, key): value for key, value in raw.items() if value is not None}
        if "transport" in said:
            said.setdefault("type", said["transport"])
        written: dict[str, Any] = {}
        for key in _WRITTEN:
            if key in said:
                written[key] = self._translated(key, said[key])
        self._drop_idle(written)
        self._settle_folder(written)
        for key, value in said.items():
            if key not in {*_WRITTEN, "transport", "disabled", "enabled"}:
                self._other(key, value)
        # What says nothing is not written: `env: {}` and the like.
        return {key: value for key, value in written.items() if value not in ({}, [])}

    def _drop_idle(self, written: dict[str, Any]) -> None:
        idle = ("headers",) if "command" in written else _FOR_COMMANDS if "url" in written else ()
        for key in idle:
            if written.pop(key, None):
                self.remarks.append(f"`{key}` is left out: it has no effect on a server of this kind")
        if "command" in written and written.get("type") == "stdio":
            del written["type"]

    def _settle_folder(self, written: dict[str, Any]) -> None:
        """Have paths mean the same, though they stand in another file now."""
        if "command" not in written:
            return
        base = "${workspaceFolder}" if self.place.folder is None else _literal(str(self.place.folder))
        for key in ("command", "cwd", "envFile"):
            path: Any = written.get(key, "/")
            looks_relative = (
                isinstance(path, str) and not path.startswith(("/", "~", "${", "\\")) and path[1:2] != ":"
            )
            if looks_relative and (key != "command" or path.startswith(("./", "../"))):
                written[key] = f"{base}/{path.removeprefix('./')}"
        if self.place.folder is not None and "cwd" not in written:
            written["cwd"] = base

    def _translated(self, key: str, value: Any, *within: str) -> Any:
        """Translate a value under a key; `within` is where it is in there."""
        if isinstance(value, str):
            return self._text(value) if key != "type" else value
        if isinstance(value, list) and not within:
            return [self._translated(key, item, f"item {at}") for at, item in enumerate(value, 1)]
        if isinstance(value, Mapping) and not within:
            return {name: self._translated(key, one, f"`{show(name)}`") for name, one in value.items()}
        if isinstance(value, bool | int | float) and key in {"args", "env", "headers"}:
            return str(value).lower() if isinstance(value, bool) else str(value)
        where = f"`{key}`, {within[0]}," if within else f"`{key}`"
        raise _Refusal(f"{where} is {kind_of(value)}; it must be a string")

    def _text(self, text: str) -> str:
        """Write a text so that each `${…}` in it means here what it means there."""
        if self.place.client.variables == "none":
            return _PIECE.sub(lambda match: "$${" if match[1] is None else self._as_text(match[1]), text)
        done = _PIECE.sub(self._piece, text)
        # The variable of an input was told of already, with what it is for.
        _, flaws = ("", []) if "${input:" in text else expand(done, self.scope)
        self.lacking += [f"{flaw.message} {flaw.suggestion}" for flaw in flaws]
        return done

    def _piece(self, match: re.Match[str]) -> str:
        body = match[1]
        if body is None:
            # Never closed: to clients it is text.
            return "$${"
        if self.place.client.variables == "shell":
            # Of Claude Code: `${VAR}` and `${VAR:-default}`, as here.
            if body.startswith("env:"):
                return self._as_text(body)
            return (
                self._variable(body) if _VARIABLE.match(body) and body not in _SAME | _FOLDERS else match[0]
            )
        return self._of_editor(body)

    def _of_editor(self, body: str) -> str:
        if body in _FOLDERS and self.place.folder is not None:
            folder = self.place.folder
            return _literal(str(folder) if body == "workspaceFolder" else folder.name)
        if body in _SAME | _FOLDERS:
            return f"${{{body}}}"
        if body.startswith("env:") and _VARIABLE.match(body.removeprefix("env:")):
            return self._variable(body.removeprefix("env:"))
        if body.startswith("input:"):
            return self._input(body.removeprefix("input:"))
        known = _OF_HALFLAP.match(body)
        # Both are left as they are, for the person to see what has to be replaced.
        if _OF_EDITORS.fullmatch(body) or (known is None and ":" in body):
            self.lacking.append(f"Halflap has nothing like `${{{show(body)}}}`: put a value in its place")
        elif known is not None and body.startswith("env:"):
            self.lacking.append(
                f"{self.place.client.label} knows no defaults, as in {_without_default(known)}: put a value in its place"
            )
        else:
            return self._as_text(body)
        return f"$${{{body}}}"

    def _as_text(self, body: str) -> str:
        """Leave what the client does not expand as it is; say so where Halflap would, for it may be meant."""
        known = _OF_HALFLAP.match(body)
        if known is not None:
            said = (
                f"{_without_default(known)} is text to {self.place.client.label}, which does not expand it, and so it "
                "is here, written with `$${`. If the variable is meant, write it with `${`"
            )
            self.remarks += [said] if said not in self.remarks else []
        return f"$${{{body}}}"

    def _variable(self, name: str) -> str:
        # As editors do, a variable that is not set is nothing. Without a default, it would be a mistake of the
        # configuration, and whoever starts Halflap later may not have it.
        self.needed.append(name)
        return f"${{{name}:-}}"

    def _input(self, name: str) -> str:
        asked = next((one for one in self.inputs if isinstance(one, Mapping) and one.get("id") == name), {})
        variable = re.sub(r"\W", "_", name, flags=re.ASCII).upper().lstrip("0123456789") or "INPUT"
        default = asked.get("default")
        if isinstance(default, str) and default and "}" not in default and asked.get("password") is not True:
            self.remarks.append(
                f"`${{input:{show(name)}}}` is now the variable {variable}, with the input's default"
            )
            return f"${{{variable}:-{default}}}"
        why = asked.get("description")
        what = f" ({show(why)})" if isinstance(why, str) and why else ""
        self.lacking.append(
            f"Halflap cannot ask for `${{input:{show(name)}}}`{what}: set the variable {variable}, then take "
            "`disabled` out"
        )
        # Set or not: who starts Halflap later may not have it.
        return f"${{{variable}:-}}"

    def _other(self, key: str, value: Any) -> None:
        if key in BLOCKING:
            names, odd = names_in(value)
            self.blocked += names
            if odd:
                self.hold(
                    key, f"`{key}` {odd}", "name what is to be off in `tools.block`, then take `disabled` out"
                )
        elif key in ALLOWING:
            odd = names_in(value)[1] or ("" if isinstance(value, list) else "is no list of names")
            some = (
                f"only some of its tools are on (`{key}`)"
                if value
                else f"none of its tools is on (`{key}` is empty)"
            )
            said = f"`{key}` {odd}" if odd else some
            self.hold(key, said, "name what is to be on in `tools.allow`, then take `disabled` out")
        elif key in _SANDBOX:
            if value and not any(_CONFINED in reason for reason in self.lacking):
                self.lacking.append(
                    f"it is confined by `{key}`, {_CONFINED}: take `disabled` out if that is all right with you"
                )
        elif key in WITHOUT_EFFECT:
            self.remarks.append(f"`{key}` is left out. {WITHOUT_EFFECT[key]}")
        elif key in IGNORED_KEYS or key == "name":
            self.about_client.append(key)
        else:
            self.remarks.append(f"`{show(key)}` is left out: Halflap knows no such key")


def _without_default(variable: re.Match[str]) -> str:
    """Name a variable; its default may be a secret."""
    return f"`${{{variable['name']}{':-…' if variable['default'] else ''}}}`"


def _literal(text: str) -> str:
    return text.replace("${", "$${")
