"""What every view needs: the gateway, the templates, values shared by all visitors, and a visitor's rights."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from starlette.responses import HTMLResponse

from halflap.core.errors import HalflapError, UsageError
from halflap.core.values import CallContext
from halflap.web.signin import LOCAL, Session
from halflap.web.tasks import Tasks
from halflap.workflows.run.process import Jobs

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request

    from halflap.gateway import Gateway
    from halflap.graph.edges import Edge

__all__ = ["THEMES", "THEME_COOKIE", "Shared", "Site", "Visit"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SHARE = 20
"""A shared value is computed again only after this multiple of the time it took: at most 5 % of the time."""
_MAX_QUERY = 2_000
THEMES = ("auto", "light", "dark")
THEME_COOKIE = "halflap-theme"


class Shared(Generic[T]):
    """A value that all visitors see. It is computed on request, and at most 5 % of the time.

    A request for an outdated value gets the old one, and the new one is computed in the background.
    """

    def __init__(self, compute: Callable[[], Awaitable[T]], seconds: float) -> None:
        self._compute = compute
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None
        self._value: T | None = None
        self._until = 0.0

    async def get(self, patience: float | None = None) -> T | None:
        """Return the value; None if computing the first one takes more than `patience` seconds."""
        if self._task is None and (self._value is None or time.monotonic() >= self._until):
            self._task = asyncio.create_task(self._update(), name="compute what a page shows")
        if self._value is None and self._task is not None:
            done, _ = await asyncio.wait([self._task], timeout=patience)
            for task in done:
                task.result()  # raises its exception
        return self._value

    async def _update(self) -> None:
        began = time.monotonic()
        try:
            self._value = await self._compute()
        except HalflapError as error:
            if self._value is None:
                raise
            logger.warning("%s The page shows an older state.", error)
        finally:
            self._task = None
            took = time.monotonic() - began
            self._until = began + took + max(self._seconds, _SHARE * took)


class Site:
    """The state of one page."""

    def __init__(self, gateway: Gateway, templates: Environment) -> None:
        self.gateway = gateway
        self.templates = templates
        self.tasks = Tasks()
        self.output_kinds: Shared[dict[str, str]] = Shared(self._kinds, 5.0)
        """Whether the output of each tool is `declared`, `learned` or `unknown`."""
        self.health: Shared[dict[str, Any]] = Shared(self._health, 3.0)
        self.edges: Shared[Sequence[Edge]] = Shared(self._edges, 30.0)
        self.jobs = Jobs(gateway.config.workflows.timeout_seconds)

    async def _health(self) -> dict[str, Any]:
        return await (await self.gateway.prepare()).doctor.health()

    async def _kinds(self) -> dict[str, str]:
        await self.gateway.prepare()
        return await self.gateway.learned.output_kinds()

    async def _edges(self) -> Sequence[Edge]:
        return await (await (await self.gateway.prepare()).composer()).edges()


@dataclass(frozen=True)
class Visit:
    """One request of a signed-in visitor."""

    site: Site
    request: Request
    session: Session
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of a POST."""

    @cached_property
    def gateway(self) -> Gateway:
        """The gateway as this visitor sees it."""
        return self.site.gateway.seen_by(self.session.principal)

    @property
    def servers(self) -> list[str]:
        serves = self.gateway.parts.seen.serves
        return [one.name for one in self.gateway.config.servers if serves(one.name)]

    @property
    def is_owner(self) -> bool:
        return self.session.principal == LOCAL

    @property
    def has_profile(self) -> bool:
        return self.gateway.parts.calls.policy.profile_of(self.session.principal) is not None

    @property
    def only_principal(self) -> str | None:
        """The principal whose runs and calls are shown. The owner sees all, as on the command line."""
        return None if self.is_owner else self.session.principal

    @property
    def may_call(self) -> bool:
        """Whether tools can be called and programs run from the page."""
        return self.gateway.config.web.allow_calls

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asks for a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    @cached_property
    def theme(self) -> str:
        chosen = self.request.cookies.get(THEME_COOKIE, "")
        return chosen if chosen in THEMES else THEMES[0]

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "").strip()[:_MAX_QUERY]

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def context(self, confirmed: frozenset[str] = frozenset()) -> CallContext:
        """Return the context for calls on this visitor's behalf, with the same rules as over MCP."""
        unconfirmed = "it was not confirmed on the page"
        context = CallContext(self.session.principal, confirmations=confirmed, unconfirmed=unconfirmed)
        return self.gateway.parts.programs.under_rules(context)

    def expect_calls_allowed(self) -> None:
        if not self.may_call:
            raise UsageError("Calls from the page are off. Set `web.allow_calls: true` to allow them.")

    def expect_owner(self) -> None:
        if not self.is_owner:
            raise UsageError("Only the owner of this machine may do this, signed in by `halflap web`.")

    def render(self, template: str, /, status: int = 200, **values: Any) -> HTMLResponse:
        layout = "part.html" if self.is_fragment else "base.html"
        text = self.site.templates.get_template(template).render(visit=self, layout=layout, **values)
        return HTMLResponse(text, status, headers={"Vary": "HX-Request"})
