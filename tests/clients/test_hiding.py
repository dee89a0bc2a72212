"""Secrets of other clients' files are not shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from halflap.cli.hiding import hidden

if TYPE_CHECKING:
    from clients.homes import Home

SECRETIVE = {
    "a": {
        "command": "x",
        "args": ["--api-key", "SECRETONE111", "--token=SECRETTWO222", "-p", "SECRETPW", "-p", "8080", "-y"],
        "env": {
            "DATABASE_URL": "mysql://u:SECRETDB@h/d",
            "OPENAI_KEY": "sk-SECRETOPENAI1234567890",
            "OPENAPI_MCP_HEADERS": '{"Authorization": "Bearer ntn_SECRETHDR", "Notion-Version": "2022"}',
            "SLACK_BOT": "xoxb-SECRETSLACK-123",
            "DSN": "https://SECRETDSN@sentry.shown.io/1",
            "FEED": "https://SECRETFEED:x-oauth-basic@feed.shown.io/${env:FEED}",
        },
    },
    "b": {"url": "https://h.example.com/mcp?api_key=SECRETQUERY&x=1"},
    "c": {
        "url": "https://user:SECRETUSERINFO@h.example.com/mcp",
        "headers": {"X-Api-Key": "SECRETXKEY", "Cookie": "session=SECRETCOOKIE", "x-ref": "SECRETOTHER"},
    },
    "d": {"command": "npx", "args": ["supergateway", "--header", "Authorization: Bearer SECRETARGHDR"]},
    "e": {"command": "bash", "args": ["-c", "API_TOKEN=SECRETINLINE node x.js"]},
    "f": {"command": "docker", "args": ["run", "-e", "GITHUB_TOKEN=SECRETDOCKERENV", "img"]},
    "g": {"url": "https://mcp.zapier.com/api/mcp/s/SECRETNjY2ZmY1ZjQtMTIzNC00/mcp"},
    "h": {"url": "https://h.example.com/", "headers": {"Accept": "text/shown", "X-Version": "2022-shown"}},
}


def test_neither_command_shows_a_secret(person: Home) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": SECRETIVE})
    shown = person.run("init", "--print")
    assert re.findall(r"SECRET\w+", shown.out + shown.err) == []
    for plain in (
        "node x.js",
        "8080",
        "text/shown",
        "2022-shown",
        "h.example.com",
        "img",
        "@sentry.shown.io/1",
        "@feed.shown.io/",
    ):
        assert plain in shown.out
    person.run("init", "--yes")
    for more in ((), ("--move",)):
        shown = person.run("install", "cursor", "--print", *more)
        assert re.findall(r"SECRET\w+", shown.out + shown.err) == []
    assert "node x.js" in shown.out
    person.run("install", "cursor", "--move", "--yes")
    shown = person.run("install", "cursor", "--undo", "--print")
    assert re.findall(r"SECRET\w+", shown.out + shown.err) == []


def test_references_to_variables_are_no_secrets() -> None:
    text = """\
+  "GITHUB_TOKEN": "${env:GH}", "API_TOKEN": "${input:api-key}"
+  TOKEN: "${GH_TOKEN:-}"
+  PASSWORD: "${X:-hunter2hunter2}"
+  # give a default: `${GH_TOKEN:-default}`
+  "password": "hunter3hunter3", "secret": "${LAST}"
"""
    expected = text.replace("hunter3hunter3", "[redacted]").replace("${X:-hunter2hunter2}", "[redacted]")
    assert hidden(text, ()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://key99@h.io/1 key99", "https://[redacted]@h.io/1 key99"),
        ('"https:\\/\\/key99@h.io"', '"https:\\/\\/[redacted]@h.io"'),
        ("https://${env:USER}@h.io ${A}", "https://${env:USER}@h.io ${A}"),
    ],
)
def test_the_credentials_of_an_address_are_hidden(text: str, expected: str) -> None:
    assert hidden(text, ()) == expected
