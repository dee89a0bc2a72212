"""Signing in to servers: with a person, then without one, and against malicious servers."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import keyring
import pytest
from keyring.backend import KeyringBackend
from mcp.server.auth.provider import AccessToken
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from halflap import Gateway
from halflap.config import ServerConfig
from halflap.config.models import OAuthConfig
from halflap.core.errors import SignInError
from halflap.upstream.signin import CredentialStore, SignIn
from halflap.upstream.signin.provider import check_address
from servers.protected import Protected, protected
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from halflap.upstream.signin import Redirect

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@pytest.fixture(scope="module")
def running() -> Iterator[Protected]:
    with protected() as server:
        yield server


@pytest.fixture
def server(running: Protected) -> Protected:
    running.reset()
    return running


def signing_in(
    server: Protected, folder: Path, principal: str = "local", url: str | None = None, **oauth: Any
) -> SignIn:
    settings = OAuthConfig.model_validate(oauth)
    config = ServerConfig("protected", "http", url=url or server.url, oauth=settings)
    return SignIn(config, principal, CredentialStore(folder / "sign-ins"))


async def browse(url: str, _: Redirect) -> None:
    """Do what a browser does: follow the redirects to the end."""
    async with httpx2.AsyncClient(follow_redirects=True, verify=False) as browser:
        await browser.get(url)


async def ask(sign_in: SignIn, server: Protected, times: int = 1) -> list[int]:
    """Send requests at the same time with a sign-in; return their statuses."""
    async with httpx2.AsyncClient(auth=sign_in, headers=HEADERS, verify=False) as client:
        answers = await asyncio.gather(*(client.post(server.url, json=PING) for _ in range(times)))
    return [answer.status_code for answer in answers]


async def test_a_person_signs_in_once_and_requests_are_let_in_after_that(
    server: Protected, home: Path
) -> None:
    sign_in = signing_in(server, home)
    assert await ask(sign_in, server) == [401]
    credentials = await sign_in.sign_in(browse)
    assert credentials.tokens.scope == "read"
    again = signing_in(server, home)
    assert (await ask(again, server))[0] != 401
    (asked,) = server.accounts.requests
    assert (asked.resource, bool(asked.code_challenge)) == (server.url, True)
    (file,) = (home / "sign-ins").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    store = CredentialStore(home / "sign-ins")
    (shown,) = await asyncio.to_thread(store.signed_in)
    assert (shown.expires_at or 0) > time.time()
    assert credentials.tokens.access_token not in shown.model_dump_json() + repr(shown)
    # It is one person's, and for one server.
    assert await ask(signing_in(server, home, "person:bob"), server) == [401]
    with protected() as other:
        assert await ask(signing_in(other, home), other) == [401]


async def test_the_address_that_the_browser_ended_at_can_be_pasted_and_no_other_counts(
    server: Protected, home: Path
) -> None:
    async def paste(url: str, redirect: Redirect) -> None:
        async with httpx2.AsyncClient(verify=False) as browser:
            answer = (await browser.get(url)).headers["location"]
            for wrong in ("?code=stolen&state=guessed", "?error=access_denied", ""):
                assert (await browser.get(redirect.uri + wrong)).status_code == 404
        assert not redirect.accept("http://127.0.0.1/callback?code=stolen&state=other")
        assert not redirect.accept("not an address")
        assert redirect.accept(f" {answer}\n")

    await signing_in(server, home).sign_in(paste)


async def test_a_refusal_is_reported_with_its_reason(server: Protected, home: Path) -> None:
    server.accounts.refused = "not on Sundays"
    with pytest.raises(SignInError, match="not on Sundays"):
        await signing_in(server, home).sign_in(browse)


async def test_expired_tokens_are_renewed_once_for_all_who_need_them(server: Protected, home: Path) -> None:
    server.accounts.seconds = 1  # less than the margin: expired at once
    await signing_in(server, home).sign_in(browse)
    server.accounts.seconds = 3600
    gateways = [signing_in(server, home) for _ in range(4)]
    statuses = await asyncio.gather(*(ask(one, server, times=5) for one in gateways))
    assert 401 not in {status for each in statuses for status in each}
    assert server.accounts.refreshes == 1


async def test_a_token_that_the_server_stopped_accepting_is_renewed_each_time(
    server: Protected, home: Path
) -> None:
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)
    # Each refresh token can be used once, so the second time needs the one that the first time brought.
    for times in (1, 2):
        server.accounts.expire()
        assert (await ask(sign_in, server))[0] != 401
        assert server.accounts.refreshes == times


async def test_a_revoked_sign_in_has_ended_for_good(server: Protected, home: Path) -> None:
    server.accounts.seconds = None  # until it is revoked
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)
    assert (await ask(sign_in, server))[0] != 401
    server.accounts.revoke()
    assert await ask(sign_in, server) == [401]
    assert list((home / "sign-ins").glob("*.json")) == []


async def test_an_authorization_server_that_is_down_ends_no_sign_in(server: Protected, home: Path) -> None:
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)
    server.accounts.expire()
    server.answers["/token"] = Response(status_code=503)
    with pytest.raises(SignInError):
        await ask(sign_in, server)
    del server.answers["/token"]
    assert (await ask(sign_in, server))[0] != 401


async def test_a_token_for_another_audience_is_not_accepted_and_not_tried_forever(
    server: Protected, home: Path
) -> None:
    server.accounts.audience = "https://other.example/mcp"
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)
    assert await ask(sign_in, server) == [401]
    assert server.accounts.refreshes == 1


async def test_signing_out_revokes_and_forgets(server: Protected, home: Path) -> None:
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)
    assert await sign_in.sign_out()
    assert server.accounts.access == {}
    assert await ask(sign_in, server) == [401]
    assert not await sign_in.sign_out()


async def test_a_permission_that_the_server_asked_for_is_asked_for_at_the_next_sign_in(
    server: Protected, home: Path
) -> None:
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)
    challenge = 'Bearer error="insufficient_scope", scope="write"'
    server.answers["/mcp"] = Response(status_code=403, headers={"www-authenticate": challenge})
    assert await ask(sign_in, server) == [403]
    del server.answers["/mcp"]
    credentials = await sign_in.sign_in(browse)
    assert set((credentials.tokens.scope or "").split()) == {"read", "write"}
    assert credentials.missing_scope is None
    # Configured scopes replace those that the server names.
    assert (await signing_in(server, home, scopes=["write"]).sign_in(browse)).tokens.scope == "write"


async def test_a_client_that_was_registered_by_hand_is_used(server: Protected, home: Path) -> None:
    given = {"client_id": "by-hand", "client_secret": "s3cret"}
    server.accounts.clients["by-hand"] = OAuthClientInformationFull.model_validate(
        {
            **given,
            "redirect_uris": ["http://127.0.0.1:1/callback"],
            "scope": "read",
            "token_endpoint_auth_method": "client_secret_basic",
        }
    )

    async def at_any_port(url: str, redirect: Redirect) -> None:
        server.accounts.clients["by-hand"].redirect_uris = [AnyUrl(redirect.uri)]
        await browse(url, redirect)

    sign_in = signing_in(server, home, **given)
    await sign_in.sign_in(at_any_port)
    assert (await ask(sign_in, server))[0] != 401
    assert "/register" not in server.paths


async def test_halflap_signs_in_as_itself_when_it_is_needed(server: Protected, home: Path) -> None:
    token = AccessToken(token="for-halflap", client_id="me", scopes=["read"], resource=server.url)
    server.accounts.access[token.token] = token
    bearer = {"access_token": token.token, "token_type": "Bearer", "expires_in": 3600}
    server.answers["/token"] = JSONResponse(bearer)
    grant = {"grant": "client_credentials", "client_id": "me", "client_secret": "s3cret"}
    assert (await ask(signing_in(server, home, **grant, issuer=server.origin), server))[0] != 401
    (home / "other").mkdir()
    other = signing_in(server, home / "other", **grant, issuer="https://other.example")
    server.paths.clear()
    with pytest.raises(SignInError):
        await ask(other, server)
    assert "/token" not in server.paths


# The keyring --------------------------------------------------------------------------------------------


class Keyring(KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.answers = threading.Event()
        self.answers.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self.answers.wait(PATIENCE)
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.answers.wait(PATIENCE)
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyring]:
    found = Keyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: found)
    yield found
    found.answers.set()


def with_keyring(server: Protected, folder: Path) -> SignIn:
    return SignIn(ServerConfig("protected", "http", url=server.url), "local", CredentialStore(folder))


async def test_tokens_are_in_the_keyring_and_not_in_the_file(
    server: Protected, home: Path, backend: Keyring
) -> None:
    credentials = await with_keyring(server, home / "s").sign_in(browse)
    (secret,) = backend.kept.values()
    (file,) = (home / "s").glob("*.json")
    assert credentials.tokens.access_token in secret
    assert credentials.tokens.access_token not in file.read_text()
    again = with_keyring(server, home / "s")
    assert (await ask(again, server))[0] != 401
    await again.sign_out()
    assert backend.kept == {}


async def test_a_keyring_that_does_not_answer_is_not_waited_for(
    server: Protected, home: Path, backend: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.upstream.signin.credentials.KEYRING_SECONDS", 0.05)
    backend.answers.clear()
    await with_keyring(server, home / "s").sign_in(browse)
    assert (await ask(with_keyring(server, home / "s"), server))[0] != 401
    (file,) = (home / "s").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_keyring_that_became_locked_is_asked_once(
    server: Protected, home: Path, backend: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_keyring(server, home / "s").sign_in(browse)
    monkeypatch.setattr("halflap.upstream.signin.credentials.KEYRING_SECONDS", 0.05)
    backend.answers.clear()
    assert await ask(with_keyring(server, home / "s"), server, times=3) == [401] * 3
    assert backend.asked == 1


# Malicious servers -----------------------------------------------------------------------------------


def metadata(server: Protected, **changed: Any) -> dict[str, Any]:
    return {
        "issuer": f"{server.origin}/",
        "authorization_endpoint": f"{server.origin}/authorize",
        "token_endpoint": f"{server.origin}/token",
        "registration_endpoint": f"{server.origin}/register",
        "response_types_supported": ["code"],
        **changed,
    }


ELSEWHERE = "http://192.0.2.1/x"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"issuer": "https://other.example"}, "issuer mismatch"),
        ({"authorization_endpoint": ELSEWHERE}, "not a safe address"),
        ({"token_endpoint": ELSEWHERE}, "not a safe address"),
        ({"registration_endpoint": ELSEWHERE}, "not a safe address"),
        ({"registration_endpoint": "http://127.0.0.1/" + "x" * 100_000}, "URL too long"),
        ({"x": "x" * 2_000_000}, "more than 1 MiB"),
    ],
    ids=["another issuer", "page", "token", "registration", "long", "large"],
)
async def test_malicious_metadata_is_refused(
    server: Protected, home: Path, changed: dict[str, str], why: str
) -> None:
    path = "/.well-known/oauth-authorization-server"
    server.answers[path] = JSONResponse(metadata(server, **changed))
    with pytest.raises(SignInError, match=why):
        await signing_in(server, home).sign_in(browse)
    # Only because of the change.
    server.answers[path] = JSONResponse(metadata(server))
    await signing_in(server, home).sign_in(browse)


@pytest.mark.parametrize("path", ["/.well-known/oauth-authorization-server", "/token"])
async def test_an_answer_that_does_not_end_is_given_up(
    server: Protected, home: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.05)

    monkeypatch.setattr("halflap.upstream.signin.provider._SECONDS", 0.5)
    server.answers[path] = StreamingResponse(drip(), media_type="application/json")
    with pytest.raises(SignInError, match="did not end"):
        await signing_in(server, home).sign_in(browse)


async def test_a_refused_request_is_repeated_without_reading_the_refusal(
    server: Protected, home: Path
) -> None:
    sign_in = signing_in(server, home)
    await sign_in.sign_in(browse)

    async def refuse() -> AsyncIterator[bytes]:
        del server.answers["/mcp"]
        while True:
            yield b"x" * 1_000_000
            await asyncio.sleep(0.01)

    server.answers["/mcp"] = StreamingResponse(refuse(), 401)
    assert (await ask(sign_in, server))[0] != 401
    assert server.accounts.refreshes == 1


async def test_an_answer_of_another_issuer_is_refused(server: Protected, home: Path) -> None:
    server.accounts.issuer = "https://other.example"
    with pytest.raises(SignInError, match=r"other\.example"):
        await signing_in(server, home).sign_in(browse)
    assert "/token" not in server.paths


@pytest.mark.parametrize(
    ("url", "server_url", "is_safe"),
    [
        ("https://auth.example/token", "https://mcp.example/mcp", True),
        ("https://auth.example/token", "http://localhost:1/mcp", True),
        ("http://127.0.0.1:2/token", "http://localhost:1/mcp", True),
        ("https://localhost./token", "https://mcp.example/mcp", False),
        ("https://127.1.2.3/token", "https://mcp.example/mcp", False),
        ("https://[::ffff:127.0.0.1]/token", "https://mcp.example/mcp", False),
        ("https://127.1/token", "https://mcp.example/mcp", False),
        ("https://169.254.169.254/token", "https://mcp.example/mcp", False),
        ("http://10.0.0.1/token", "http://mcp.example/mcp", False),
        ("https://10.0.0.1/token", "https://10.0.0.2/mcp", True),
        ("http://127.0.0.1:2/token", "http://mcp.example/mcp", False),
        ("http://auth.example/token", "https://mcp.example/mcp", False),
        ("file:///etc/passwd", "https://mcp.example/mcp", False),
    ],
)
def test_a_server_leads_to_safe_addresses_only(url: str, server_url: str, *, is_safe: bool) -> None:
    with nullcontext() if is_safe else pytest.raises(SignInError):
        check_address(httpx2.URL(url), httpx2.URL(server_url))


async def test_metadata_of_another_resource_is_refused(server: Protected, home: Path) -> None:
    document = {"resource": "https://other.example/mcp", "authorization_servers": [server.origin]}
    server.answers["/.well-known/oauth-protected-resource/mcp"] = JSONResponse(document)
    with pytest.raises(SignInError):
        await signing_in(server, home).sign_in(browse)


async def test_neither_code_nor_token_follows_a_redirect_to_another_host(
    server: Protected, home: Path
) -> None:
    with protected() as thief:
        server.answers["/token"] = RedirectResponse(f"{thief.origin}/token", 307)
        with pytest.raises(SignInError):
            await signing_in(server, home).sign_in(browse)
        del server.answers["/token"]
        await signing_in(server, home / "data").sign_in(browse)
        server.answers["/mcp"] = RedirectResponse(thief.url, 307)
        config = {"servers": [{"name": "notes", "url": server.url, "transport": "http"}]}
        async with Gateway.open(config) as gateway:
            await gateway.refresh()
            (status,) = await gateway.statuses()
        assert thief.origin in str(status.reason)
        assert server.paths[-1] == "/mcp"
        assert thief.paths == []


async def test_a_stolen_code_is_worthless(server: Protected, home: Path) -> None:
    async def steal(url: str, redirect: Redirect) -> None:
        async with httpx2.AsyncClient(verify=False) as browser:
            answer = (await browser.get(url)).headers["location"]
            (code,), (client,) = parse_qs(urlsplit(answer).query)["code"], server.accounts.clients.values()
            known = client.model_dump(include={"client_id", "client_secret"})
            grant = {"grant_type": "authorization_code", "code": code, **known}
            guess = {"redirect_uri": redirect.uri, "code_verifier": "a" * 43}
            stolen = await browser.post(f"{server.origin}/token", data=grant | guess)
            assert (stolen.status_code, stolen.json()["error"]) == (400, "invalid_grant")
            await browser.get(answer)

    await signing_in(server, home).sign_in(steal)
    assert len(server.accounts.access) == 1


async def test_a_damaged_file_is_no_sign_in(server: Protected, home: Path) -> None:
    await signing_in(server, home).sign_in(browse)
    (file,) = (home / "sign-ins").glob("*.json")
    wrong = json.dumps(json.loads(file.read_bytes()) | {"tokens": {}}).encode()
    for damage in (b"", b"[]", b"\xff", wrong):
        file.write_bytes(damage)
        assert await ask(signing_in(server, home), server) == [401]
