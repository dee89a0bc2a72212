"""The secrets that a configuration holds, and the forms in which they may turn up in a text."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from html.entities import codepoint2name
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from halflap.calls.secret_forms import find_forms
from halflap.calls.secret_named import find_named
from halflap.calls.secret_names import secrecy, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halflap.config import Config, ServerConfig

__all__ = ["configured_secrets", "written_forms"]

_SHORTEST_NAMED = 6
_SHORTEST = 16
_SHORTEST_ENCODED = 8
_LONGEST = 16_384
_LONG_LINE = 20
_LETTERS = re.compile(r"[A-Za-z]")
_DIGITS = re.compile(r"[0-9]")
_NAME_LIKE = re.compile(r"(?:[A-Za-z]+|[0-9]+|v[0-9]+)(?:[-_.:@ ](?:[A-Za-z]+[0-9]?|[0-9]+|v[0-9]+))*\Z")
_STRUCTURED = re.compile(r"[{}<>$,;()\[\]@]|/.*/.*/|\..*\..*\.", re.DOTALL)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_PATH_LIKE = re.compile(r"~|\.{0,2}/|[A-Za-z]:\\|file:")
_MORE_NAMES = words("key pass pw pat dsn sas sig signature webhook auth session")
"""In the name of a variable or header these stand for a secret too."""
_SCHEMES = words("bearer basic token digest apikey key negotiate")
_QUERY_NAMES = words("key sig signature code")


def configured_secrets(config: Config) -> tuple[str, ...]:
    """Give what a configuration holds that should be seen nowhere else."""
    found: dict[str, None] = {}
    for server in config.servers:
        found.update(dict.fromkeys(_of_server(server)))
    if config.store.url is not None:
        found.update(dict.fromkeys(_of_url(config.store.url)))
    found.update(dict.fromkeys(config.http.tokens.values()))
    if config.programs.lm is not None and config.programs.lm.api_key is not None:
        found.update(dict.fromkeys(_of_named("api_key", config.programs.lm.api_key)))
    return tuple(found)


def _of_server(server: ServerConfig) -> Iterator[str]:
    for name, value in (*server.env.items(), *server.headers.items()):
        yield from _of_named(name, value)
    if server.url is not None:
        yield from _of_url(server.url)
    for before, argument in zip(("", *server.args), server.args, strict=False):
        name, equals, value = argument.partition("=")
        if equals:
            yield from _of_named(name, value)
        if before.startswith("-"):
            yield from _of_named(before, argument)
        yield from _of_text(argument)


def _of_named(name: str, value: str) -> Iterator[str]:
    """Give what is secret in the value of a variable or header."""
    value = value.strip()
    last = re.split(r"[^A-Za-z0-9]+", name.lower())[-1]
    is_secret = secrecy(name) != "no" or last in _MORE_NAMES or last.endswith("key")
    scheme, _, rest = value.partition(" ")
    if scheme.lower() in _SCHEMES:
        # `Bearer x`: the word before it is no secret, nor is it by itself, where a variable has nothing in it.
        yield from _of_named(name, rest)
        if scheme.lower() == "basic":
            yield from _of_basic(rest.strip())
        return
    if is_secret and len(value) >= _SHORTEST_NAMED and not _is_plain(value):
        yield from _with_lines(value)
    elif looks_random(value):
        yield value
    if "=" in value and ("; " in value or "cookie" in name.lower()):
        for pair in value.split(";"):
            part = pair.partition("=")[2].strip()
            if len(part) >= _SHORTEST_NAMED and (is_secret or looks_random(part)):
                yield part
    yield from _of_text(value)


def _of_text(value: str) -> Iterator[str]:
    """Give what is secret in a longer text: an address, JSON, a connection string."""
    if "://" in value:
        yield from _of_url(value)
    if value.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            yield from _of_json(json.loads(value))
    for start, end in (*find_forms(value), *find_named(value)):
        if end - start >= _SHORTEST_NAMED:
            yield value[start:end]


def _of_json(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _of_json(member, key)
    elif isinstance(value, list):
        for member in value:
            yield from _of_json(member, name)
    elif isinstance(value, str) and len(value) >= _SHORTEST_NAMED and secrecy(name) != "no":
        yield from _with_lines(value)


def _of_url(url: str) -> Iterator[str]:
    """Give the password and the secret parameters of an address, as written and decoded."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        found = [parts.password or ""]
        if parts.password is None and parts.username and looks_random(parts.username):
            found.append(parts.username)
        for name, value in parse_qsl(parts.query):
            last = re.split(r"[^A-Za-z0-9]+", name.lower())[-1]
            if secrecy(name) != "no" or last in _QUERY_NAMES or last.endswith("key") or looks_random(value):
                found.append(value)
        found += [part for part in parts.path.split("/") if looks_random(unquote(part))]
        for word in found:
            for form in {word, unquote(word)}:
                if len(form) >= _SHORTEST_NAMED and not _is_plain(form):
                    yield form


def _of_basic(word: str) -> Iterator[str]:
    with contextlib.suppress(ValueError):
        decoded = base64.b64decode(word + "=" * (-len(word) % 4), validate=True).decode()
        password = decoded.partition(":")[2]
        if len(password) >= _SHORTEST_NAMED:
            yield password


def _with_lines(value: str) -> Iterator[str]:
    """Give a secret of several lines also line by line: programs print them so."""
    yield value
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LONG_LINE and not line.startswith("-----"))


def _is_plain(value: str) -> bool:
    """Say whether a value is none, although its name says that it is secret: a path, a flag, an address."""
    plain = value.lower() in {"true", "false", "none", "null", "required", "optional", "disabled", "enabled"}
    return plain or _PATH_LIKE.match(value) is not None or "://" in value or "[redacted]".find(value) >= 0


def looks_random(value: str) -> bool:
    """Say whether a value can hardly be anything but a secret, whatever its name is.

    `production`, `us-east-1-blue`, `8080`, a path, an address or a UUID are not.
    """
    if len(value) < _SHORTEST or any(character.isspace() for character in value):
        return False
    if _PATH_LIKE.match(value) or _NAME_LIKE.match(value) or _UUID.match(value) or "://" in value:
        return False
    if _STRUCTURED.search(value) is not None:
        return False
    return _LETTERS.search(value) is not None and len(_DIGITS.findall(value)) > 1


def written_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Give the texts by which secrets are recognised, the longest first: plain, escaped and encoded."""
    forms: dict[str, None] = {}
    for secret in secrets:
        forms.update(dict.fromkeys(_forms(secret[:_LONGEST])))
    return tuple(sorted((form for form in forms if form), key=len, reverse=True))


def _forms(secret: str) -> Iterator[str]:
    yield secret
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        # In JSON within JSON.
        yield json.dumps(escaped)[1:-1]
    data = secret.encode(errors="surrogatepass")
    # As Python writes texts and bytes.
    yield from (repr(secret)[1:-1], ascii(secret)[1:-1], repr(data)[2:-1])
    yield from _in_html(secret)
    for encoded in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield encoded
        yield re.sub(r"%..", lambda found: found[0].lower(), encoded)
    if len(secret) >= _SHORTEST_ENCODED:
        yield data.hex()
        yield data.hex().upper()
        for plain in _in_base64(data):
            yield plain
            yield plain.replace("+", "-").replace("/", "_")


def _in_html(secret: str) -> Iterator[str]:
    """Give it as pages and XML may have it: what must be escaped, and what need not be, in each usual way."""
    plain = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for double, single in (
        ('"', "'"),
        ("&quot;", "&#x27;"),
        ("&quot;", "&#39;"),
        ("&#34;", "&#39;"),
        ("&quot;", "&apos;"),
    ):
        escaped = plain.replace('"', double).replace("'", single)
        yield escaped
        if not escaped.isascii():
            for written in (_decimal, _hexadecimal, _named):
                yield "".join(one if one.isascii() else written(ord(one)) for one in escaped)


def _decimal(code: int) -> str:
    return f"&#{code};"


def _hexadecimal(code: int) -> str:
    return f"&#x{code:x};"


def _named(code: int) -> str:
    name = codepoint2name.get(code)
    return chr(code) if name is None else f"&{name};"


def _in_base64(data: bytes) -> Iterator[str]:
    """Give the part of its base64 that does not depend on what stands before and behind it."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        whole = (before + len(data)) * 8 // 6
        yield encoded[(0, 2, 3)[before] : whole]
