"""DSPy programs: the list, their fields, and a form to run one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from halflap.web.forms import inputs_of, read_inputs

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.web.site import Visit


async def programs(visit: Visit) -> Response:
    usable, broken = await (await visit.gateway.prepare()).dspy.usable(visit.session.principal)
    has_model = visit.gateway.config.uses_programs
    return visit.render(
        "programs.html",
        programs=[one.summary() for one in usable.values()],
        broken=broken,
        has_model=has_model,
    )


async def one_program(visit: Visit) -> Response:
    program = await (await visit.gateway.prepare()).dspy.find(visit.path("name"), visit.session.principal)
    definition = program.definition()
    values: dict[str, Any] = {
        "info": program.info(),
        "definition": definition,
        "inputs": inputs_of(definition["inputSchema"]),
        "has_model": visit.gateway.config.uses_programs,
    }
    return visit.render("program.html", **values)


async def post_run(visit: Visit) -> Response:
    visit.expect_calls_allowed()
    name = visit.path("name")
    program = await (await visit.gateway.prepare()).dspy.find(name, visit.session.principal)
    inputs = read_inputs(inputs_of(program.definition()["inputSchema"]), visit.form)
    program.spec.check_inputs(inputs)
    confirmed = frozenset[str]()
    if visit.form.get("confirm") == "yes":
        destructive = await visit.gateway.parts.programs.destructive_within(
            f"dspy__{name}", visit.session.principal
        )
        confirmed = frozenset(tool.name for tool in destructive)
    work = _answered(visit.gateway.parts.dspy.execute(name, inputs, visit.context(confirmed)))
    task = visit.site.tasks.start(visit.session.principal, "dspy", work)
    return RedirectResponse(f"/tasks/{task.id}", 303)


async def _answered(work: Any) -> dict[str, Any]:
    return {"answer": await work, "drawings": [], "footprint": None}


ROUTES = {"/programs": programs, "/programs/{name}": one_program, "/programs/{name}/run": post_run}
