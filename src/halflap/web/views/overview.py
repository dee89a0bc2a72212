"""The first page: servers, what is known of tools, and calls as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.web.site import Visit


async def overview(visit: Visit) -> Response:
    return visit.render("overview.html")


ROUTES = {"/": overview}
