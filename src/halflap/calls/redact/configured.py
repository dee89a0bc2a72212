"""The secrets that the configuration holds, and the forms in which they may appear in a text."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from halflap.calls.redact.assignments import find_assignments
from halflap.calls.redact.forms import find_forms
from halflap.calls.redact.names import secrecy, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halflap.config import Config, ServerConfig

__all__ = ["configured_secrets", "written_forms"]

_SHORTEST_NAMED = 6
_SHORTEST_RANDOM = 16
_SHORTEST_ENCODED = 8
_LONGEST = 16_384
_LONG_LINE = 20
_NAME_LIKE = re.compile(r"(?:[A-Za-z]+|[0-9]+|v[0-9]+)(?:[-_.:@ ](?:[A-Za-z]+[0-9]?|[0-9]+|v[0-9]+))*\Z")
_STRUCTURED = re.compile(r"[{}<>$,;()\[\]@\s]|://|/.*/.*/|\..*\..*\.", re.DOTALL)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_PATH_LIKE = re.compile(r"~|\.{0,2}/|[A-Za-z]:\\|file:")
_TWO_DIGITS = re.compile(r"[0-9][^0-9]*[0-9]")
_MORE_NAMES = words("key pass pw pat dsn sas sig signature webhook auth session")
"""The last word of a variable, header or URL parameter; in data these are too common to count as secret."""
_SCHEMES = words("bearer basic token digest apikey key negotiate")
_PLAIN = words("true false none null required optional disabled enabled")


def configured_secrets(config: Config) -> tuple[str, ...]:
    """Return the values in a configuration that must not be recorded or shown."""
    found: list[str] = []
    for server in config.servers:
        found += _of_server(server)
    if config.store.url is not None:
        found += _of_url(config.store.url)
    found += config.http.tokens.values()
    if config.programs.lm is not None and config.programs.lm.api_key is not None:
        found += _of_named("api_key", config.programs.lm.api_key)
    return tuple(dict.fromkeys(found))


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
    """Return what is secret in the value of a variable, header or option."""
    value = value.strip()
    scheme, _, rest = value.partition(" ")
    if scheme.lower() in _SCHEMES:
        # `Bearer x`: the scheme is not secret, with or without a token.
        yield from _of_named(name, rest)
        if scheme.lower() == "basic":
            with contextlib.suppress(ValueError):
                yield from _long(base64.b64decode(rest, validate=True).decode().partition(":")[2])
        return
    if is_secret := _is_secret_name(name):
        if not _is_plain(value):
            yield from _long(value)
            lines = [line.strip() for line in value.splitlines()]
            yield from (line for line in lines if len(line) >= _LONG_LINE and not line.startswith("-----"))
    elif _looks_random(value):
        yield value
    if "=" in value and ("; " in value or "cookie" in name.lower()):
        for pair in value.split(";"):
            part = pair.partition("=")[2].strip()
            if is_secret or _looks_random(part):
                yield from _long(part)
    yield from _of_text(value)


def _of_text(value: str) -> Iterator[str]:
    if "://" in value:
        yield from _of_url(value)
    for start, end in (*find_forms(value), *find_assignments(value)):
        yield from _long(value[start:end])


def _of_url(url: str) -> Iterator[str]:
    """Return the password, the secret parameters and the random path segments of a URL, as written and decoded."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        found = [parts.password or ""]
        if parts.username and _looks_random(parts.username):
            found.append(parts.username)
        for name, value in parse_qsl(parts.query):
            if _is_secret_name(name) or name == "code" or _looks_random(value):
                found.append(value)
        found += [part for part in parts.path.split("/") if _looks_random(unquote(part))]
        for word in found:
            for form in dict.fromkeys((word, unquote(word))):
                if not _is_plain(form):
                    yield from _long(form)


def _is_secret_name(name: str) -> bool:
    last = re.split(r"[^A-Za-z0-9]+", name.lower())[-1]
    return secrecy(name) != "no" or last in _MORE_NAMES or last.endswith("key")


def _long(value: str) -> Iterator[str]:
    if len(value) >= _SHORTEST_NAMED:
        yield value


def _is_plain(value: str) -> bool:
    """Return whether a value is not secret although its name says so: a path, a flag, a URL."""
    return (
        value.lower() in _PLAIN
        or _PATH_LIKE.match(value) is not None
        or "://" in value
        or value in "[redacted]"
    )


def _looks_random(value: str) -> bool:
    """Return whether a value can hardly be anything but a secret, whatever its name.

    `production`, `us-east-1-blue`, `8080`, a path, a URL or a UUID are not.
    """
    return (
        len(value) >= _SHORTEST_RANDOM
        and not any(form.match(value) for form in (_PATH_LIKE, _NAME_LIKE, _UUID))
        and _STRUCTURED.search(value) is None
        and any(character.isalpha() for character in value)
        and _TWO_DIGITS.search(value) is not None
    )


def written_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the texts by which secrets are recognised, the longest first: plain, escaped and encoded."""
    forms: dict[str, None] = {}
    for secret in secrets:
        forms.update(dict.fromkeys(_forms(secret[:_LONGEST])))
    return tuple(sorted((form for form in forms if form), key=len, reverse=True))


def _forms(secret: str) -> Iterator[str]:
    data = secret.encode(errors="surrogatepass")
    yield secret
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield json.dumps(escaped)[1:-1]
    yield from (repr(secret)[1:-1], ascii(secret)[1:-1], repr(data)[2:-1])
    yield from (html.escape(secret), html.escape(secret, quote=False))
    for encoded in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield encoded
        yield re.sub(r"%..", lambda found: found[0].lower(), encoded)
    if len(secret) >= _SHORTEST_ENCODED:
        yield data.hex()
        yield data.hex().upper()
        for before in range(3):
            # The part of its base64 that does not depend on what comes before and after.
            encoded = base64.b64encode(b"\0" * before + data).decode()
            encoded = encoded[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
            yield encoded
            yield encoded.replace("+", "-").replace("/", "_")
