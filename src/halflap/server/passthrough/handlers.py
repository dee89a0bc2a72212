"""Answer requests for prompts and resources, in the aggregate or of a single server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

import mcp_types as types

from halflap.core.values import CallContext
from halflap.server.passthrough.peer import LEVELS, set_log_level
from halflap.server.passthrough.results import AsItCame, protocol_errors
from halflap.server.principal import principal_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server import ServerRequestContext
    from mcp.server.lowlevel import Server

    from halflap.core.values import Forwarded
    from halflap.gateway import Gateway
    from halflap.server.passthrough.changes import Changes
    from halflap.server.passthrough.peer import Peer
    from halflap.server.passthrough.requests import Requests
    from halflap.server.passthrough.routes import Routes, Target

    Context = ServerRequestContext[Any, Any]

__all__ = ["Handlers"]


class Handlers:
    """The requests besides those for tools, on one front."""

    def __init__(self, gateway: Gateway, routes: Routes, requests: Requests) -> None:
        self._gateway = gateway
        self._routes = routes
        self._requests = requests
        self._lowest = len(LEVELS)

    def register(self, server: Server[Any], changes: Changes) -> None:
        """Make a front answer these requests."""
        paginated = types.PaginatedRequestParams
        for method in ("prompts/list", "resources/list", "resources/templates/list"):
            server.add_request_handler(method, paginated, self.list)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, self.get_prompt)
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, self.read_resource)
        server.add_request_handler("completion/complete", types.CompleteRequestParams, self.complete)
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_log_level)
        changes.register(server)

    async def list(self, context: Context, params: types.PaginatedRequestParams) -> NoReturn:
        """Return a page of prompts, resources or templates."""
        with protocol_errors():
            on_behalf = CallContext(principal=principal_of(context))
            raise AsItCame(await self._routes.page(context.method, params.cursor, on_behalf))

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> NoReturn:
        """Return a prompt, filled in by its server."""
        target = await self._found(self._routes.prompt(params.name))
        await self._pass(context, "prompt", target, {"name": target.name})

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> NoReturn:
        """Return a resource's contents."""
        target = await self._found(self._routes.resource(str(params.uri), principal_of(context)))
        await self._pass(context, "resource", target, {"uri": target.name})

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> NoReturn:
        """Return completions of an argument of a prompt or a template."""
        if isinstance(params.ref, types.PromptReference):
            target = await self._found(self._routes.prompt(params.ref.name))
            ref = {"type": "ref/prompt", "name": target.name}
            await self._pass(context, "prompt", target, {"ref": ref})
        else:
            target = await self._found(self._routes.template(str(params.ref.uri)))
            await self._pass(
                context, "resource", target, {"ref": {"type": "ref/resource", "uri": target.name}}
            )
        raise AssertionError("unreachable")

    async def set_log_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Note what this client wants to hear; servers are asked for what any client wants."""
        set_log_level(context, params.level)
        if LEVELS.index(params.level) < self._lowest:
            self._lowest = LEVELS.index(params.level)
            await (await (await self._gateway.prepare()).pool.get()).set_log_level(params.level)
        return types.EmptyResult()

    async def _found(self, finding: Any) -> Target:
        with protocol_errors():
            target: Target = await finding
            return target

    async def _pass(
        self,
        context: Context,
        kind: Literal["prompt", "resource"],
        target: Target,
        replaced: Mapping[str, Any],
    ) -> NoReturn:
        """Send the client's request to the server with its own names, and pass on the result."""
        dropped = {"_meta", "inputResponses", "requestState"}
        given = {key: value for key, value in (context.params or {}).items() if key not in dropped}

        async def work(peer: Peer, forwarded: Forwarded) -> dict[str, Any]:
            on_behalf = CallContext(
                principal=principal_of(context), progress=peer.progress, client=peer, forwarded=forwarded
            )
            passing = (await self._gateway.prepare()).passing
            request = (target.server, kind, target.name)
            with protocol_errors():
                return await passing.request(request, context.method, {**given, **replaced}, on_behalf)

        raise AsItCame(await self._requests.answer(context, work))
