"""`halflap serve` and `halflap web`: run the MCP server, open the web page."""

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
    only: Annotated[
        str | None, Option(metavar="NAME", help="Serve only this server, with its own tools.")
    ] = None,
    profile: Annotated[
        str | None, Option(metavar="NAME", help="The profile of clients without one of their own.")
    ] = None,
) -> None:
    """Run the MCP server.

    Serves one client over stdio, or many over HTTP. Changes of the configuration apply while it runs, and clients stay
    connected.
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
            raise UsageError("Over HTTP, use the path /servers/<name>/mcp of a server instead of --only.")
        from halflap.server.http import run_http

        await run_http(config, http, note, load, _page(config))
        return
    if sys.stdin.isatty():
        note("Serving MCP on stdin and stdout, for an MCP client. Ctrl-C stops it.")
    await run_stdio(config, load, only=only)


@command(shared=_SHARED)
async def web(
    invocation: Invocation,
    http: Annotated[str, Option(metavar="HOST:PORT", help="The address of the page.")] = _ADDRESS,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the browser, or only print the link.")
    ] = True,
) -> None:
    """Open the web page: servers, tools, links, runs and workflows.

    Opens the page of a running `halflap serve --http`, or else serves it, along with MCP, until Ctrl-C. The link works
    once; then the browser stays signed in.
    """
    set_up_logging(verbose=invocation.verbose, servers=True)
    config = invocation.config()
    if not config.web.enabled:
        raise UsageError("The page is disabled by `web.enabled: false` in the configuration.")
    from halflap.server.http import parse_address, run_http
    from halflap.web import SignIn

    opened = _open if browser else None
    host, port = parse_address(http)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if port and await asyncio.to_thread(_is_served, url):
        link = SignIn(config.data_dir / "web").new_link(url)
        note(f"Web page (this link signs you in once): {link}")
        if opened is not None:
            await asyncio.to_thread(webbrowser.open, link)
        return
    await run_http(config, http, note, partial(load_config, invocation.config_file), _page(config, opened))


def _page(config: Config, opened: Callable[[str], object] | None = None) -> Callable[..., WebPage] | None:
    """Return the page's factory, or None if the page is disabled."""
    if not config.web.enabled:
        return None
    from halflap.web import WebPage

    return partial(WebPage, opened=opened)


def _open(link: str) -> None:
    # In a thread, since some browsers return only when they are closed.
    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _is_served(url: str) -> bool:
    """Return whether a Halflap page answers at this address."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError, ValueError), direct.open(f"{url}/sign-in", timeout=_ANSWER_SECONDS) as answer:
        return answer.headers.get("Halflap-Page") is not None
    return False
