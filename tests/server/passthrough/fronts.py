"""Clients in front of servers with every feature, with Halflap in between; all in this process."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front
from halflap.server.audit import Audit
from halflap.server.http import bind, serve_http
from halflap.server.tokens import Tokens, configured_tokens
from server.faces import in_memory
from servers.features import build

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from servers.features import Everything

TOKENS = {"ann": "token-of-ann-0123456789", "bob": "token-of-bob-0123456789"}


@dataclass
class Person:
    """The person and the model behind a client: answers by name, and notes what it was asked and told."""

    name: str = "Ann"
    asked: list[str] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)
    progress: list[tuple[float, float | None]] = field(default_factory=list)

    async def elicit(self, _context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        names = params.requested_schema.get("properties", {})
        return types.ElicitResult(action="accept", content=dict.fromkeys(names, self.name))

    async def sample(self, _context: Any, params: Any) -> types.CreateMessageResult:
        self.asked.append(params.messages[0].content.text)
        content = types.TextContent(text=f"thought by {self.name}")
        return types.CreateMessageResult(role="assistant", content=content, model="none")

    async def roots(self, _context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": f"file:///{self.name}"}]})

    async def hear(self, message: Any) -> None:
        if not isinstance(message, types.ProgressNotification):
            self.told.append(message)

    async def advance(self, progress: float, total: float | None, message: str | None) -> None:
        del message
        self.progress.append((progress, total))

    @property
    def options(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "message_handler": self.hear,
        }

    def heard(self, kind: type) -> list[Any]:
        return [message for message in self.told if isinstance(message, kind)]


@asynccontextmanager
async def gateway_of(
    home: Path, servers: Mapping[str, Any], settings: Mapping[str, Any] | None = None, **each: Any
) -> AsyncIterator[Gateway]:
    """Open a gateway; `each` are settings of every server."""
    config = await asyncio.to_thread(Config.from_mapping, {"http": {"tokens": TOKENS}, **(settings or {})})
    gateway = Gateway(replace(config, data_dir=home / "data"), servers)
    gateway.config = replace(
        gateway.config, servers=tuple(replace(server, **each) for server in gateway.config.servers)
    )
    try:
        yield gateway
    finally:
        await gateway.close()


@dataclass
class Set:
    """A client, its person, the gateway in between, and the server's state."""

    client: Client
    person: Person
    gateway: Gateway
    state: Everything


@asynccontextmanager
async def single(
    home: Path, mode: str, *, legacy: bool, person: Person | None = None, **settings: Any
) -> AsyncIterator[Set]:
    """Connect a client of an era to the transparent front of a server of an era."""
    server, state = build(legacy=legacy)
    person = person or Person()
    async with gateway_of(home, {"features": server}, settings) as gateway:
        front = Front(gateway, "features")
        async with Client(front.server, mode=mode, **person.options) as client:
            yield Set(client, person, gateway, state)
        front.close()


def aggregate(
    home: Path, mode: str, servers: Mapping[str, Any], person: Person | None = None, **settings: Any
) -> AbstractAsyncContextManager[Client]:
    """Connect a client to the front of all servers."""
    return in_memory(home, servers, settings, mode=mode, **(person or Person()).options)


@asynccontextmanager
async def over_http(gateway: Gateway, audit: Audit | None = None) -> AsyncIterator[str]:
    """Serve a gateway at an address of this machine to the people in `TOKENS`."""
    listener = bind("127.0.0.1", 0)
    ready = asyncio.Event()
    front = Front(gateway)
    tokens = Tokens(configured_tokens(gateway.config)[0])
    serving = asyncio.create_task(
        serve_http(gateway, front, listener, tokens, audit=audit or Audit(), on_ready=ready.set)
    )
    await ready.wait()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        front.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        listener.close()


@asynccontextmanager
async def http_client(url: str, who: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {TOKENS[who]}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


@asynccontextmanager
async def before(
    home: Path, server: Any, mode: str, person: Person | None = None, **each: Any
) -> AsyncIterator[Client]:
    """Connect a client to the front of one server, `s`."""
    options = (person or Person()).options
    async with (
        gateway_of(home, {"s": server}, **each) as gateway,
        Client(Front(gateway, "s").server, mode=mode, **options) as client,
    ):
        yield client


@asynccontextmanager
async def two_people(home: Path, server: Any, mode: str) -> AsyncIterator[tuple[Client, Client]]:
    """Connect Ann and Bob over HTTP to the front of one server."""
    options = Person().options
    async with gateway_of(home, {"features": server}) as gateway, over_http(gateway) as address:
        url = f"{address}/servers/features/mcp"
        async with (
            http_client(url, "ann", mode, **options) as ann,
            http_client(url, "bob", mode, **options) as bob,
        ):
            yield ann, bob


def text_of(result: Any) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)
