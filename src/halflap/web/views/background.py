"""Tasks in the background: a page that waits for one, and then shows its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from halflap.core.errors import HalflapError, UsageError
from halflap.sandbox.run.report import Execution
from halflap.web.views.nets import shown_answer

if TYPE_CHECKING:
    from halflap.web.site import Visit


async def task(visit: Visit) -> Response:
    found = visit.site.tasks.find(visit.path("id"), visit.session.principal)
    if found is None:
        raise UsageError("This task has expired. Recorded runs are under Runs.")
    if not found.is_done:
        return visit.render("waiting.html", task=found)
    if visit.is_fragment:
        return Response(headers={"HX-Refresh": "true"})
    if found.work.cancelled():
        raise UsageError("It was stopped.")
    error = found.work.exception()
    if error is not None:
        if not isinstance(error, HalflapError):
            raise error
        return visit.render("outcome.html", task=found, problem=error, values={})
    outcome = found.work.result()
    if isinstance(outcome, Execution):
        return RedirectResponse(f"/runs/{outcome.run}", 303)
    return visit.render("outcome.html", task=found, problem=None, values=shown_answer(found.about, outcome))


async def post_stop(visit: Visit) -> Response:
    found = visit.site.tasks.find(visit.path("id"), visit.session.principal)
    if found is not None:
        found.work.cancel()
    return RedirectResponse("/", 303)


ROUTES = {"/tasks/{id}": task, "/tasks/{id}/stop": post_stop}
