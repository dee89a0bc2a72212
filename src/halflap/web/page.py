"""The application: its paths, sign-in, and error pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from halflap import __version__
from halflap.core.errors import BusyError, HalflapError, RunNotFoundError, ToolNotFoundError, UsageError
from halflap.web.guard import Guard, Refused, read_form
from halflap.web.rendering import environment
from halflap.web.signin import Accounts, SignIn
from halflap.web.site import THEME_COOKIE, THEMES, Site, Visit
from halflap.web.views import VIEWS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from halflap.gateway import Gateway

    Handler = Callable[[Visit], Awaitable[Response]]

__all__ = ["WebPage"]

logger = logging.getLogger(__name__)

_COOKIE_SECONDS = 30 * 86_400
_STATIC, _SIGN_IN, _SIGN_OUT, _THEME = "static", "sign-in", "sign-out", "theme"
_SECTIONS = {path.split("/")[1] for view in VIEWS for path in view.ROUTES} - {""}
_OWN = frozenset({_STATIC, _SIGN_IN, _SIGN_OUT, _THEME, "favicon.ico", *_SECTIONS})
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_ASKED_WRONG = 400
_NOT_FOUND = 404


class WebPage:
    """The page of a gateway. The constructor reads files: call it in a thread.

    `hosts` are the accepted names in the Host header. `opened` is called with the link that `invite` creates.
    """

    def __init__(
        self,
        gateway: Gateway,
        accounts: Accounts,
        hosts: Collection[str],
        *,
        opened: Callable[[str], object] | None = None,
    ) -> None:
        self._opened = opened
        self._sign_in = SignIn(gateway.config.data_dir / "web", accounts)
        templates = environment()
        self._site = Site(gateway, templates)
        static = _Static()
        templates.globals["asset"] = static.address
        routes = [
            Route(path, self._for_signed_in(handler), methods=[method])
            for view in VIEWS
            for path, handler in view.ROUTES.items()
            for method in (["POST"] if handler.__name__.startswith("post_") else ["GET"])
        ]
        routes += [
            Route(f"/{_SIGN_IN}", self._get_sign_in, methods=["GET"]),
            Route(f"/{_SIGN_IN}", self._post_sign_in, methods=["POST"]),
            Route(f"/{_SIGN_OUT}", self._post_sign_out, methods=["POST"]),
            Route(f"/{_THEME}", self._for_signed_in(_post_theme), methods=["POST"]),
            Route(f"/{_STATIC}/{{name:path}}", static.answer, methods=["GET"]),
            Route("/{path:path}", self._for_signed_in(_not_found), methods=["GET", "POST"]),
        ]
        self._app = Guard(Starlette(routes=routes), hosts)

    def owns(self, path: str) -> bool:
        """Return whether a path belongs to the page."""
        return path == "/" or path.removeprefix("/").partition("/")[0] in _OWN

    def invite(self, url: str) -> str:
        """Create a link that signs in the owner of this machine, and return a message with it."""
        link = self._sign_in.new_link(url)
        if self._opened is not None:
            self._opened(link)
        return f"Web page (this link signs you in once): {link}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    # Signing in

    async def _get_sign_in(self, request: Request) -> Response:
        link = request.query_params.get("link")
        if link is None:
            return self._ask(request, 200)
        # A browser that prefetches must not use up the link.
        looks_ahead = "prefetch" in request.headers.get("sec-purpose", "")
        port = request.scope["server"][1] if request.scope.get("server") else None
        secret = None if looks_ahead else await asyncio.to_thread(self._sign_in.follow_link, link, port)
        if secret is None:
            return self._ask(request, 403, "This link was used before, or is too old.")
        # Not a redirect: the browser sends a strict cookie only with navigation from one of our own pages.
        text = self._site.templates.get_template("signed_in.html").render(theme="auto")
        return _with_cookie(HTMLResponse(text), request, secret)

    async def _post_sign_in(self, request: Request) -> Response:
        try:
            form = await read_form(request, None)
        except Refused as refused:
            return self._ask(request, refused.status, str(refused))
        secret = await asyncio.to_thread(self._sign_in.with_token, form.get("token", "").strip())
        if secret is None:
            return self._ask(request, 403, "This token is not valid.")
        return _with_cookie(RedirectResponse("/", 303), request, secret)

    async def _post_sign_out(self, request: Request) -> Response:
        visit = await self._visit(request)
        if not isinstance(visit, Visit):
            return visit
        await asyncio.to_thread(self._sign_in.end, request.cookies[_cookie_name(request)])
        response = RedirectResponse(f"/{_SIGN_IN}", 303)
        response.delete_cookie(_cookie_name(request), samesite="strict", httponly=True)
        return response

    def _ask(self, request: Request, status: int, problem: str = "") -> Response:
        """Answer with the sign-in form."""
        if request.headers.get("hx-request") == "true":
            return Response(status_code=status, headers={"HX-Refresh": "true"})
        values = {"problem": problem, "theme": "auto", "from_elsewhere": _is_from_elsewhere(request)}
        text = self._site.templates.get_template("sign_in.html").render(**values)
        # `halflap web` looks for this header.
        return HTMLResponse(text, status, headers={"Halflap-Page": __version__})

    # Everything else

    def _for_signed_in(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            visit = await self._visit(request)
            if not isinstance(visit, Visit):
                return visit
            try:
                return await handler(visit)
            except HalflapError as error:
                return _failed(visit, _status(error), str(error), error.code)
            except Exception as error:
                logger.exception("the page could not be shown")
                message = f"Halflap failed to answer ({type(error).__name__}). See its log."
                return _failed(visit, 500, message, "internal")

        return endpoint

    async def _visit(self, request: Request) -> Visit | Response:
        secret = request.cookies.get(_cookie_name(request), "")
        session = await asyncio.to_thread(self._sign_in.find, secret) if secret else None
        if session is None:
            return self._ask(request, 401)
        try:
            form = await read_form(request, session) if request.method == "POST" else {}
        except Refused as refused:
            visit = Visit(self._site, request, session)
            return _failed(visit, refused.status, str(refused), "refused")
        return Visit(self._site, request, session, form)


def _failed(visit: Visit, status: int, message: str, code: str) -> Response:
    template = "problem.html" if visit.is_fragment else "failed.html"
    return visit.render(template, status, message=message, code=code)


def _status(error: HalflapError) -> int:
    if isinstance(error, RunNotFoundError | ToolNotFoundError):
        return _NOT_FOUND
    if isinstance(error, BusyError):
        return 503
    return _ASKED_WRONG if isinstance(error, UsageError) else 500


async def _not_found(visit: Visit) -> Response:
    return _failed(visit, _NOT_FOUND, "There is no such page.", "not-found")


async def _post_theme(visit: Visit) -> Response:
    chosen = visit.form.get("theme", "")
    response = RedirectResponse(_own_path(visit.form.get("back", "")), 303)
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, _COOKIE_SECONDS, httponly=True, samesite="strict")
    return response


def _own_path(path: str) -> str:
    """Return the path, or `/` for one that could lead to another site."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"


def _cookie_name(request: Request) -> str:
    # Browsers share cookies between ports, and each may have a page.
    server = request.scope.get("server")
    return f"halflap-{server[1] if server else ''}"


def _with_cookie(response: Response, request: Request, secret: str) -> Response:
    is_secure = request.url.scheme == "https"
    response.set_cookie(
        _cookie_name(request), secret, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=is_secure
    )
    return response


def _is_from_elsewhere(request: Request) -> bool:
    """Return whether a link of another site led here; browsers then send no cookie."""
    return request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}


class _Static:
    """The style sheet, scripts and icon, in memory; their addresses change with their contents."""

    def __init__(self) -> None:
        folder = files("halflap.web").joinpath("static")
        every = [*folder.iterdir(), *folder.joinpath("vendor").iterdir()]
        vendored = {one.name for one in folder.joinpath("vendor").iterdir()}
        self._files = {
            f"vendor/{one.name}" if one.name in vendored else one.name: one.read_bytes()
            for one in every
            if one.is_file()
        }
        self._hashes = {name: sha256(data).hexdigest()[:12] for name, data in self._files.items()}

    def address(self, name: str) -> str:
        return f"/{_STATIC}/{name}?v={self._hashes[name]}"

    async def answer(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = _KINDS.get(name.rpartition(".")[2])
        if name not in self._files or kind is None:
            return PlainTextResponse("There is no such file.", _NOT_FOUND)
        is_current = request.query_params.get("v") == self._hashes[name]
        cached = "public, max-age=31536000, immutable" if is_current else "no-cache"
        return Response(self._files[name], media_type=kind, headers={"Cache-Control": cached})
