"""A visitor of the page, in this process: a client with cookies, as a browser has them, in front of a gateway."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import httpx2

from halflap import Gateway
from halflap.config import token_hash
from halflap.core.values import CallContext
from halflap.server.tokens import Tokens
from halflap.web import WebPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

ADDRESS = "http://127.0.0.1:8765"
HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
ANN, BOB = "person:ann", "person:bob"
TOKENS = {ANN: "the-token-of-ann-1234", BOB: "the-token-of-bob-1234"}
PEOPLE = {"ann": TOKENS[ANN], "bob": TOKENS[BOB]}


def hashed(tokens: Mapping[str, str]) -> Tokens:
    return Tokens({principal: token_hash(token) for principal, token in tokens.items()})


@dataclass
class Visitor:
    gateway: Gateway
    page: WebPage
    client: httpx2.AsyncClient
    csrf: str = ""

    @property
    def owner(self) -> CallContext:
        """On whose behalf the owner's programs run."""
        return CallContext("local")

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(path, headers=_named(headers))

    async def part(self, path: str) -> httpx2.Response:
        """Ask for a part of a page, as htmx does."""
        return await self.get(path, HX_Request="true")

    async def post(
        self, path: str, fields: Mapping[str, str] | None = None, **headers: str
    ) -> httpx2.Response:
        """Send a form as the page itself does."""
        form = {"csrf": self.csrf, **(fields or {})}
        return await self.client.post(path, data=form, headers={"Origin": ADDRESS, **_named(headers)})

    async def sign_in(self, link: str | None = None) -> httpx2.Response:
        answer = await self.client.get(await asyncio.to_thread(new_link, self.page) if link is None else link)
        await self.read_csrf()
        return answer

    async def sign_in_as(self, token: str) -> httpx2.Response:
        answer = await self.client.post("/sign-in", data={"token": token}, headers={"Origin": ADDRESS})
        await self.read_csrf()
        return answer

    async def read_csrf(self) -> None:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', (await self.client.get("/")).text)
        self.csrf = found[1] if found else ""


def new_link(page: WebPage) -> str:
    said = page.invite(ADDRESS)
    return said[said.index("http") :]


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def stranger(page: WebPage, gateway: Gateway, address: str = ADDRESS) -> Visitor:
    """Return a visitor who is not signed in."""
    transport = httpx2.ASGITransport(app=page)
    return Visitor(gateway, page, httpx2.AsyncClient(transport=transport, base_url=address))


@asynccontextmanager
async def visiting(
    servers: Mapping[str, Any] | None = None,
    *,
    signed_in: bool = True,
    servers_config: Mapping[str, Any] | None = None,
    **config: Any,
) -> AsyncIterator[Visitor]:
    """Open a gateway and its page, with every server listed; the visitor is its owner."""
    config.setdefault("http", {"tokens": PEOPLE})
    if servers_config:
        config["servers"] = dict(servers_config)
    async with Gateway.open(config, servers=servers) as gateway:
        await gateway.settle()
        page = await asyncio.to_thread(WebPage, gateway, hashed(TOKENS), HOSTS)
        visitor = stranger(page, gateway)
        async with visitor.client:
            if signed_in:
                await visitor.sign_in()
            yield visitor


@dataclass
class Markup(HTMLParser):
    """What a page has that a strict Content-Security-Policy forbids, and its links."""

    text: str
    forbidden: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in {"href", "action", "hx-get"} and value]
        is_data = given.get("type") == "application/json"
        if tag == "style" or (tag == "script" and "src" not in given and not is_data):
            self.forbidden.append(f"<{tag}>")
        for name, value in attrs:
            if name == "style" or name.startswith(("on", "hx-on")) or "javascript:" in (value or "").lower():
                self.forbidden.append(f"{tag} {name}")
