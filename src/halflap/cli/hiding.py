"""What of servers' entries is not shown to whoever looks over a shoulder; the same for every file that is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from halflap.clients import jsontext
from halflap.config import Config, ServerConfig
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hidden", "secrets_of", "servers_of_text"]

_NOTHING = "…|default|none|null|nil|unset|missing|empty|true|false|change[-_]?me"
_REFERENCE = re.compile(rf"\$?\$\{{(?:[a-z]+:)?[\w./-]*(?::-(?:{_NOTHING})?)?\}}")
"""What stands for a value and is none; one with a default of its own may hold a secret."""
_HIDDEN_DEFAULT = re.compile(r"(\$\{\w+:)(?=\[redacted\]\})")
_HARMLESS = re.compile(
    r"accept(?:-\w+)?|cache-control|connection|content-(?:type|length)|date|dnt|host|origin|pragma|prefer|referer|te"
    r"|user-agent|x-requested-with|.*version",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey)\s+", re.IGNORECASE)
_SHORT_OPTIONS = frozenset({"-p", "-P", "-k", "-K", "-t", "-T", "-a"})
_NO_PASSWORD = re.compile(r"-|[\d:.,]+\Z|[./~]|.*/")
_SHORTEST = 4
"""What is shorter would be taken out of words all over the place."""
_USER = re.compile(r"(?<=:)(//|\\/\\/)((?:\$?\$\{[^}\s\"']{0,200}\}|[^\s/?#@\"'<>\\])++)(?=@)")
"""The user of a URL, which often is a token, with the password; slashes may be escaped, as JSON has it."""
_USER_PART = re.compile(rf"(?P<variable>{_REFERENCE.pattern})|(?:(?!{_REFERENCE.pattern})[^:])+")
_SHELL_VALUE = re.compile(r"[^\s;&|\"']+")


def secrets_of(servers: Iterable[ServerConfig]) -> tuple[str, ...]:
    """Give what of servers is secret, or may be: known secrets, all headers but harmless ones, `-p` and the like."""
    from halflap.calls import configured_secrets  # noqa: PLC0415 -- much is loaded with it

    found: dict[str, None] = {}
    for server in servers:
        known = configured_secrets(Config(servers=(server,)))
        for value in (*map(_first_word(server), known), *_headers(server), *_after_short_options(server)):
            for part in _REFERENCE.split(value):
                if len(part.strip()) >= _SHORTEST and not _SCHEME.fullmatch(f"{part.strip()} "):
                    found[part.strip()] = None
    return tuple(found)


def servers_of_text(text: str | None) -> Iterator[ServerConfig]:
    """Give the servers of a client's file as they are written, also those that cannot be used."""
    try:
        value = jsontext.parse(text) if text else {}
    except ClientFileError:
        return
    yield from _within(value, 0)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Give a text without what looks secret; `${…}` is no secret, whatever name it stands under."""
    from halflap.calls import MARK, Redactor  # noqa: PLC0415 -- much is loaded with it

    redactor = Redactor(secrets)
    references = [(match.start(), match[0]) for match in _REFERENCE.finditer(text)]
    if not references:
        return _without_users(_with_variables(redactor.text(text), text), MARK)
    bare = _REFERENCE.sub("", text)
    parts, at, taken = [], 0, 0
    # Where each piece that was left stands in the text without references, those are put back.
    for number, piece in enumerate(redactor.text(bare).split(MARK)):
        begin = max(bare.find(piece, at), at) if number else 0
        parts.append(MARK if number else "")
        done = 0
        while references:
            place = references[0][0] - taken
            if place > begin + len(piece):
                break
            reference = references.pop(0)[1]
            taken += len(reference)
            if place >= begin:
                parts += [piece[done : place - begin], reference]
                done = place - begin
        parts.append(piece[done:])
        at = begin + len(piece)
    return _without_users(_with_variables("".join(parts), text), MARK)


def _without_users(text: str, mark: str) -> str:
    """Hide the user of each URL, but for variables."""

    def without(found: re.Match[str]) -> str:
        return found[1] + _USER_PART.sub(lambda part: part["variable"] or mark, found[2])

    return _USER.sub(without, text)


def _with_variables(shown: str, text: str) -> str:
    """Have a default that is hidden stand behind its variable as it is written, with `:-`."""
    return _HIDDEN_DEFAULT.sub(lambda found: f"{found[1]}-" if f"{found[1]}-" in text else found[1], shown)


def _first_word(server: ServerConfig) -> Any:
    """Of `API_KEY=… node x.js`, an argument that is a line for a shell, only the value is secret."""

    def narrowed(secret: str) -> str:
        if " " in secret and any(arg.endswith(f"={secret}") for arg in server.args):
            word = _SHELL_VALUE.match(secret)
            return secret if word is None else word[0]
        return secret

    return narrowed


def _headers(server: ServerConfig) -> Iterator[str]:
    for name, value in server.headers.items():
        if not _HARMLESS.fullmatch(name) and value.lower() not in {"true", "false"}:
            yield _SCHEME.sub("", value.strip(), count=1)


def _after_short_options(server: ServerConfig) -> Iterator[str]:
    for option, argument in zip(server.args, server.args[1:], strict=False):
        if option in _SHORT_OPTIONS and not _NO_PASSWORD.match(argument):
            yield argument


def _within(value: Any, depth: int) -> Iterator[ServerConfig]:
    if not isinstance(value, Mapping) or depth > len(("projects", "folder", "mcpServers", "server")):
        return
    if any(isinstance(value.get(key), str) for key in ("command", "url", "serverUrl", "httpUrl")):
        yield _server(value)
    for member in value.values():
        yield from _within(member, depth + 1)


def _server(raw: Mapping[str, Any]) -> ServerConfig:
    url = next((raw[key] for key in ("url", "serverUrl", "httpUrl") if isinstance(raw.get(key), str)), None)
    args = raw.get("args")
    return ServerConfig(
        name="server",
        transport="stdio" if url is None else "auto",
        command=str(raw.get("command", "")),
        args=tuple(map(str, args)) if isinstance(args, list) else (),
        env=_texts(raw.get("env")),
        url=url,
        headers=_texts(raw.get("headers")),
    )


def _texts(value: Any) -> dict[str, str]:
    return {key: str(text) for key, text in value.items()} if isinstance(value, Mapping) else {}
