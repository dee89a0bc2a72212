"""The checks on every request to the page, and the headers of every answer.

Against DNS rebinding, the Host must be one of ours. Against other sites, a form is accepted only from our own origin and
with the token of the session, and a cross-site request only if it is a navigation. Against injected markup, a
Content-Security-Policy allows only our own files, and no inline script or style.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from halflap.web.signin import Session

__all__ = ["CSRF_FIELD", "Guard", "Refused", "read_form"]

CSRF_FIELD = "csrf"
_HOST = re.compile(r"(?P<name>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Not `no-referrer`: browsers then send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_MAX_BODY = 2 * 1024 * 1024
_MAX_FIELDS = 500
_SAFE = frozenset({"GET", "HEAD"})


class Refused(Exception):  # noqa: N818 -- an answer, not a failure
    """The request is not answered."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Guard:
    """Checks every request, and adds the headers to every answer; by default, answers are not cached."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        app = self._app
        try:
            _check(Request(scope), self._hosts)
        except Refused as refused:
            app = PlainTextResponse(str(refused), refused.status)
        await app(scope, receive, sending)


def _check(request: Request, hosts: Collection[str]) -> None:
    """Raise `Refused` for a foreign Host, and for cross-site requests."""
    given = request.headers.getlist("host")
    found = _HOST.fullmatch(given[0]) if len(given) == 1 else None
    if found is None or found["name"].strip("[]").lower() not in hosts:
        raise Refused(421, "This Host is not accepted.")
    if request.method not in {*_SAFE, "POST"}:
        raise Refused(405, "Only GET and POST are supported.")
    site = request.headers.get("sec-fetch-site", "none")
    if request.method == "POST":
        origins = request.headers.getlist("origin")
        if len(origins) != 1 or not _is_ours(origins[0], given[0]) or site not in {"none", "same-origin"}:
            raise Refused(403, "Forms are only accepted from this page.")
    elif site in {"cross-site", "same-site"} and request.headers.get("sec-fetch-mode") != "navigate":
        raise Refused(403, "Cross-site requests are refused.")


def _is_ours(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()


async def read_form(request: Request, session: Session | None) -> dict[str, str]:
    """Return the fields of a form; raise `Refused` if it is too large or lacks the token of the session."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY:
            raise Refused(413, "The form is too large.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(415, "The body is not a form.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise Refused(400, "The form is malformed.") from None
    form = dict(pairs)
    given = form.pop(CSRF_FIELD, "")
    if session is not None and not hmac.compare_digest(given.encode(), session.csrf.encode()):
        raise Refused(403, "This form is out of date. Reload the page and try again.")
    return form
