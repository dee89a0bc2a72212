"""Find the secrets in a configuration."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from halflap.calls.redact.scan import find_secrets
from halflap.calls.redact.table import is_random, sensitivity

if TYPE_CHECKING:
    from halflap.config import Config, ServerConfig

__all__ = ["configured_secrets"]

_SHORTEST = 6
_LONG_LINE = 20
_RANDOM = re.compile(r"[\w+/=~-]{16,}\Z")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_PLAIN = re.compile(
    r"(?i)(?:true|false|none|null|required|optional|disabled|enabled)\Z|~|\.{0,2}/|[a-z]:\\|.*://|\[redacted"
)
"""Not secret although the name says so: a flag, a path, a URL."""
_SECRET_NAME = re.compile(
    r"(?i)(?:(?:\A|[^a-z])(?:pass|pw|pat|dsn|sas|sig|signature|webhook|auth|session)|key|\Acode)\Z"
)
"""Names of variables, headers and URL parameters; in data they are too common to count as secret."""
_SCHEMES = ("bearer", "basic", "token", "digest", "apikey", "negotiate")


def configured_secrets(config: Config) -> tuple[str, ...]:
    """Return the values in a configuration that must not be recorded or shown."""
    found: list[str] = []
    for server in config.servers:
        found += _of_server(server)
    found += _of_text(config.store.url or "")
    found += (one.token for one in config.http.tokens.values() if one.token is not None)
    if config.programs.lm is not None and config.programs.lm.api_key is not None:
        found += _of_named("api_key", config.programs.lm.api_key)
    return tuple(dict.fromkeys(one for one in found if len(one) >= _SHORTEST))


def _of_server(server: ServerConfig) -> Iterator[str]:
    for name, value in (*server.env.items(), *server.headers.items()):
        yield from _of_named(name, value)
    yield from _of_text(server.url or "")
    for before, argument in zip(("", *server.args), server.args, strict=False):
        name, equals, value = argument.partition("=")
        if equals:
            yield from _of_named(name, value)
        elif before.startswith("-"):
            yield from _of_named(before, argument)
        yield from _of_text(argument)


def _of_named(name: str, value: str) -> Iterator[str]:
    """Return the secrets in the value of a variable, header or option."""
    value = value.strip()
    scheme, _, rest = value.partition(" ")
    if scheme.lower() in _SCHEMES:
        yield from _of_named(name, rest)
        with contextlib.suppress(ValueError):
            yield base64.b64decode(rest, validate=True).decode().partition(":")[2]
        return
    is_secret = _is_secret_name(name) and not _PLAIN.match(value)
    if is_secret or _looks_random(value):
        yield value
    if is_secret:
        lines = map(str.strip, value.splitlines())
        yield from (line for line in lines if len(line) >= _LONG_LINE and line[0] != "-")
        yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
    yield from _of_text(value)


def _of_text(text: str) -> Iterator[str]:
    yield from (text[start:end] for start, end in find_secrets(text))
    if "://" in text:
        with contextlib.suppress(ValueError):
            yield from _of_url(text)


def _of_url(url: str) -> Iterator[str]:
    """Return the password, the secret parameters and the random parts of a URL, as written and decoded."""
    parts = urlsplit(url)
    segments = (parts.username or "", *parts.path.split("/"))
    found = [parts.password or "", *filter(_looks_random, segments)]
    for name, value in parse_qsl(parts.query):
        if _looks_random(value) or (_is_secret_name(name) and not _PLAIN.match(value)):
            found.append(value)
    for one in found:
        yield from (one, unquote(one))


def _is_secret_name(name: str) -> bool:
    return sensitivity(name) != "no" or _SECRET_NAME.search(name) is not None


def _looks_random(value: str) -> bool:
    """Return whether a value is almost certainly a secret, whatever its name."""
    is_plain = _UUID.match(value) or _PLAIN.match(value)
    return _RANDOM.match(value) is not None and not is_plain and is_random(value)
