"""Which values of a configuration count as secrets."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.calls import configured_secrets
from halflap.config import Config


def secrets_of(**server: Any) -> set[str]:
    if "url" not in server:
        server = {"command": "x", **server}
    return set(configured_secrets(Config.from_mapping({"servers": [{"name": "s", **server}]})))


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("GITHUB_TOKEN", "abc123", "abc123"),
        ("OPENAI_KEY", "production", "production"),
        ("WHATEVER", "f3Kd93jfKs02mfLq8s", "f3Kd93jfKs02mfLq8s"),
        ("DATABASE_URL", "postgres://ann:hun%24ter2@db/x", "hun$ter2"),
        ("SERVICE_URL", "https://h/x?api_key=abc123&page=2", "abc123"),
        ("CONNECTION", "Server=db;Uid=ann;Password=hunter2;", "hunter2"),
        ("DEPLOY_KEY", "-----BEGIN\nMIIEabcdefghijklmnopqrstuv\n-----END", "MIIEabcdefghijklmnopqrstuv"),
    ],
)
def test_a_variable_that_holds_a_secret_is_recognised(name: str, value: str, secret: str) -> None:
    assert secret in secrets_of(env={name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REGION", "us-east-1-blue-cluster"),
        ("HOME", "/home/ann/some/long/path/0123456789"),
        ("TENANT_ID", "123e4567-e89b-12d3-a456-426614174000"),
        ("MODEL", "claude-sonnet-4-20250514"),
        ("TOKEN", "none"),
        ("SSH_KEY", "/home/ann/.ssh/id_ed25519"),
        ("GREETING", "Hello, this is a sentence with 2 numbers 17"),
    ],
)
def test_a_variable_that_holds_none_is_left_alone(name: str, value: str) -> None:
    assert secrets_of(env={name: value}) == set()


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"Authorization": "Bearer abc123def"}, {"abc123def"}),
        ({"Authorization": "Basic YW5uOmh1bnRlcjI="}, {"hunter2", "YW5uOmh1bnRlcjI="}),
        ({"Cookie": "sid=abc123def; lang=de"}, {"sid=abc123def; lang=de", "abc123def"}),
        ({"Accept": "application/json, text/event-stream", "User-Agent": "Halflap/0.1 (Linux 6.1)"}, set()),
    ],
)
def test_headers_without_the_word_before_a_token(headers: dict[str, str], found: set[str]) -> None:
    assert secrets_of(url="https://h/", headers=headers) == found


@pytest.mark.parametrize("args", [["--api-key=abc123"], ["serve", "--token", "abc123", "--verbose"]])
def test_an_argument_after_a_secret_name_is_a_secret(args: list[str]) -> None:
    assert secrets_of(args=args) == {"abc123"}


def test_the_secrets_of_urls_and_of_the_language_model_are_found() -> None:
    url = "https://ann:hunter2@h/f3Kd93jfKs02mfLq8s/mcp?key=abc123&lang=de"
    assert secrets_of(url=url) == {"hunter2", "f3Kd93jfKs02mfLq8s", "abc123"}
    lm = {"model": "openai/m", "api_key": "sk-abc123def"}
    store = {"url": "postgresql+psycopg://ann:hunter2@h/d"}
    config = Config.from_mapping({"store": store, "servers": [], "programs": {"lm": lm}})
    assert set(configured_secrets(config)) == {"hunter2", "sk-abc123def"}
