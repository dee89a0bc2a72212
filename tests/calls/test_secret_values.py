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
        ("DB_PASSWORD", "correct horse", "correct horse"),
        ("OPENAI_KEY", "abcdef", "abcdef"),
        ("API_KEY", "production", "production"),
        ("WHATEVER", "f3Kd93jfKs02mfLq8s", "f3Kd93jfKs02mfLq8s"),
        ("DATABASE_URL", "postgres://ann:hunter2@db/x", "hunter2"),
        ("DATABASE_URL", "postgres://ann:hun%24ter2@db/x", "hun$ter2"),
        ("SERVICE_URL", "https://h/x?api_key=abc123&page=2", "abc123"),
        ("CONNECTION", "Server=db;Uid=ann;Password=hunter2;", "hunter2"),
        ("GOOGLE_CREDENTIALS", '{"client_email": "a@b.c", "private_key": "MIIabcdef"}', "MIIabcdef"),
    ],
)
def test_a_variable_that_holds_a_secret_is_recognised(name: str, value: str, secret: str) -> None:
    assert secret in secrets_of(env={name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "true"),
        ("PORT", "8080"),
        ("NODE_ENV", "production"),
        ("REGION", "us-east-1-blue-cluster"),
        ("HOME", "/home/ann/some/long/path/0123456789"),
        ("CONFIG", "~/a1b2c3d4/e5f6g7h8"),
        ("SERVICE_URL", "https://example.org/api/v2"),
        ("TENANT_ID", "123e4567-e89b-12d3-a456-426614174000"),
        ("MODEL", "claude-sonnet-4-20250514"),
        ("VERSION", "1.2.3-alpha.4+build5"),
        ("EMAIL", "ann.smith.1984@example.org"),
        ("LANG", "de_DE.UTF-8"),
        ("TOKEN", "none"),
        ("PASSWORD", "abc"),
        ("API_KEY_FILE", "/run/secrets/key"),
        ("SSH_KEY", "/home/ann/.ssh/id_ed25519"),
        ("GREETING", "Hello, this is a sentence with 2 numbers 17"),
    ],
)
def test_a_variable_that_holds_none_is_left_alone(name: str, value: str) -> None:
    assert secrets_of(env={name: value}) == set()


@pytest.mark.parametrize("value", ["Bearer", "Bearer ", "Basic"])
def test_the_word_before_a_token_is_no_secret_without_one(value: str) -> None:
    assert secrets_of(url="https://h/", headers={"Authorization": value}) == set()


def test_the_word_before_a_token_is_no_secret() -> None:
    assert secrets_of(url="https://h/", headers={"Authorization": "Bearer abc123def"}) == {"abc123def"}


def test_the_password_of_a_basic_header_is_one() -> None:
    found = secrets_of(url="https://h/", headers={"Authorization": "Basic YW5uOmh1bnRlcjI="})
    assert {"hunter2", "YW5uOmh1bnRlcjI="} <= found


def test_each_cookie_is_a_secret_of_its_own() -> None:
    found = secrets_of(url="https://h/", headers={"Cookie": "sid=abc123def; lang=de"})
    assert "abc123def" in found
    assert "de" not in found


def test_harmless_headers_are_left_alone() -> None:
    headers = {"Accept": "application/json, text/event-stream", "User-Agent": "Halflap/0.1 (Linux 6.1)"}
    assert secrets_of(url="https://h/", headers=headers) == set()


@pytest.mark.parametrize(
    "args", [["--api-key", "abc123"], ["--api-key=abc123"], ["serve", "--token", "abc123", "--verbose"]]
)
def test_an_argument_after_a_secrets_name_is_a_secret(args: list[str]) -> None:
    assert secrets_of(args=args) == {"abc123"}


def test_the_secrets_of_an_address_are_found() -> None:
    found = secrets_of(url="https://ann:hunter2@h/f3Kd93jfKs02mfLq8s/mcp?key=abc123&lang=de")
    assert found == {"hunter2", "f3Kd93jfKs02mfLq8s", "abc123"}


def test_the_password_of_the_store_is_one() -> None:
    config = Config.from_mapping({"store": {"url": "postgresql+psycopg://ann:hunter2@h/d"}})
    assert configured_secrets(config) == ("hunter2",)


def test_a_variable_is_looked_at_as_it_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "abc123def")
    assert secrets_of(env={"TRACKER_TOKEN": "${MY_TOKEN}"}) == {"abc123def"}


def test_a_secret_of_several_lines_is_known_line_by_line() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEabcdefghijklmnopqrstuv\n" * 2 + "-----END PRIVATE KEY-----"
    assert "MIIEabcdefghijklmnopqrstuv" in secrets_of(env={"DEPLOY_KEY": key})


@pytest.mark.parametrize(("key", "found"), [("sk-abc123def", {"sk-abc123def"}), ("x", set())])
def test_the_key_of_the_language_model_is_one(key: str, found: set[str]) -> None:
    config = {"servers": [], "programs": {"lm": {"model": "openai/m", "api_key": key}}}
    assert set(configured_secrets(Config.from_mapping(config))) == found
