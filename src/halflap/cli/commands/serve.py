"""`halflap serve` and `halflap web`: run the MCP server, and open the web page."""

from __future__ import annotations

import asyncio
import sys
import threading
import urllib.request
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from halflap.cli.command import Invocation, command
from halflap.cli.output import note, set_up_logging
from halflap.config import load_config
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.web import WebPage

_ADDRESS = "127.0.0.1:8765"
_ANSWER_SECONDS = 5.0
_SHARED = ("config", "verbose")


@command(shared=_SHARED)
async def serve(
    invocation: Invocation,
    http: Annotated[str | None, Option(metavar="HOST:PORT", help="Serve over HTTP instead of stdio.")] = None,
    only: Annotated[str | None, Option(metavar="NAME", help="Serve one server as it is.")] = None,
    profile: Annotated[
        str | None, Option(metavar="NAME", help="What clients may use that have no profile of their own.")
    ] = None,
) -> None:
    """Run the MCP server.

    Over stdio for one client, or over HTTP for many. Changes of the configuration file apply while it runs; clients
    stay connected.
    """
    set_up_logging(verbose=invocation.verbose, servers=True)
    from halflap.server import run_stdio

    def load() -> Config:
        config = load_config(invocation.config_file)
        return config if profile is None else config.restricted_to(profile)

    config = invocation.config()
    config = config if profile is None else config.restricted_to(profile)
    if http is not None:
        if only is not None:
            raise UsageError("Leave out --only: over HTTP, each server has its address, /servers/<name>/mcp.")
        from halflap.server.http import run_http

        await run_http(config, http, note, load, _page(config))
        return
    if sys.stdin.isatty():
        note(
            "Serving MCP on stdin and stdout, for an MCP client. Ctrl-C stops it. To try Halflap: halflap list"
        )
    await run_stdio(config, load, only=only)


@command(shared=_SHARED)
async def web(
    invocation: Invocation,
    http: Annotated[str, Option(metavar="HOST:PORT", help="Where the page is served.")] = _ADDRESS,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open it, or only print the link.")
    ] = True,
) -> None:
    """Open the web page.

    It shows servers, tools, links, runs and workflows. If `halflap serve --http` runs at the address already, its
    page is opened; otherwise this serves it, along with MCP, until Ctrl-C. The link works once; the browser stays
    signed in.
    """
    set_up_logging(verbose=invocation.verbose, servers=True)
    config = invocation.config()
    if not config.web.enabled:
        raise UsageError("The page is switched off: `web.enabled` in the configuration.")
    from halflap.server.http import parse_address, run_http
    from halflap.web import SignIn

    opened = _open if browser else None
    host, port = parse_address(http)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if port and await asyncio.to_thread(_is_served, url):
        link = SignIn(config.data_dir / "web").new_link(url)
        note(f"Page, signed in once by this link: {link}")
        if opened is not None:
            await asyncio.to_thread(webbrowser.open, link)
        return
    await run_http(config, http, note, partial(load_config, invocation.config_file), _page(config, opened))


def _page(config: Config, opened: Callable[[str], object] | None = None) -> Callable[..., WebPage] | None:
    """Return what makes the page for a server; None if it is switched off."""
    if not config.web.enabled:
        return None
    from halflap.web import WebPage

    return partial(WebPage, opened=opened)


def _open(link: str) -> None:
    # In a thread: some browsers return only when they are closed.
    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _is_served(url: str) -> bool:
    """Return whether a page of Halflap's answers at this address."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError, ValueError), direct.open(f"{url}/sign-in", timeout=_ANSWER_SECONDS) as answer:
        return answer.headers.get("Halflap-Page") is not None
    return False
