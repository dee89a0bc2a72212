"""The analyses behind the gepa tools: arguments in, an answer out. All mistakes in the arguments are reported together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import ConfigDict  # noqa: TC002 -- pydantic reads the annotations

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.footprint import footprint
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Mode  # noqa: TC001 -- pydantic reads it
from halflap.workflows.model.checks import check_or_gates
from halflap.workflows.model.form import BAD_ARGUMENTS, MISSING, read_specification, validated, write_net
from halflap.workflows.model.net import MAX_STATES, STRICT
from halflap.workflows.optimize.goal import Goal
from halflap.workflows.optimize.optimizer import optimize
from halflap.workflows.score.score import Scoring, score
from halflap.workflows.yawl import read_yawl, write_yawl

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net, Specification
    from halflap.workflows.optimize.genetic import Reflect

T = TypeVar("T")
_WORKFLOWS = ("workflow", "workflow_spec", "original_workflow", "optimized_workflow")


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow from a client, and how to write one in the same form."""

    specification: Specification
    is_yawl: bool

    @property
    def net(self) -> Net:
        return self.specification.net

    def written(self, net: Net) -> dict[str, Any]:
        if not self.is_yawl:
            return write_net(net)
        nets = {**self.specification.nets, self.specification.root: net}
        return {"yawl": write_yawl(replace(self.specification, nets=nets))}


def read_workflow(value: Any) -> Workflow:
    """Read a workflow in the JSON form, with or without sub-nets, or as `{"yawl": the XML of a specification}`."""
    if not isinstance(value, dict) or "yawl" not in value or "nets" in value:
        found = Workflow(read_specification(value), is_yawl=False)
    elif len(value) > 1 or not isinstance(value["yawl"], str):
        raise WorkflowError([("yawl", "It must be the XML of a specification, and the only key.")])
    else:
        try:
            found = Workflow(read_yawl(value["yawl"]), is_yawl=True)
        except WorkflowError as error:
            raise WorkflowError([(f"yawl: {one.path}", one.message) for one in error.problems]) from None
    check_or_gates(found.specification)
    return found


@dataclass(frozen=True)
class _Comparing:
    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    original_workflow: dict[str, Any]
    optimized_workflow: dict[str, Any]
    validation_mode: Mode = "balanced"


@dataclass(frozen=True)
class _Scoring(Scoring):
    workflow: dict[str, Any] = field(kw_only=True)


@dataclass(frozen=True)
class _Optimizing(Goal):
    workflow_spec: dict[str, Any] = field(kw_only=True)


def _read(kind: type[T], given: Mapping[str, Any]) -> tuple[T, list[Workflow]]:
    """Validate arguments and read the workflows in them; a `WorkflowError` has every problem of all."""
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    there = {name: value for name, value in given.items() if name not in known or value not in (None, {}, "")}
    problems: list[tuple[str, str]] = []
    asked: T | None = None
    try:
        asked = validated(kind, there)
    except WorkflowError as error:
        for one in error.problems:
            missing = one.path not in there and one.message == MISSING
            required = f"Parameter '{one.path}' is required and must not be empty"
            problems.append(("", required) if missing else one)
    workflows = []
    for name in [name for name in _WORKFLOWS if isinstance(there.get(name), dict)]:
        try:
            workflows.append(read_workflow(there[name]))
        except WorkflowError as error:
            problems += [(_below(name, one.path), one.message) for one in error.problems]
    if asked is None or problems:
        raise WorkflowError(problems, BAD_ARGUMENTS)
    return asked, workflows


def _below(name: str, path: str) -> str:
    return name if not path else f"{name}{path}" if path.startswith("[") else f"{name}.{path}"


def _validate(given: Mapping[str, Any], _reflect: Reflect | None) -> dict[str, Any]:
    asked, (original, optimized) = _read(_Comparing, given)
    return compare(original.net, optimized.net, asked.validation_mode).response()


def _score(given: Mapping[str, Any], _reflect: Reflect | None) -> dict[str, Any]:
    asked, (workflow,) = _read(_Scoring, given)
    return score(workflow.net, asked).response()


def _optimize(given: Mapping[str, Any], reflect: Reflect | None) -> dict[str, Any]:
    asked, (workflow,) = _read(_Optimizing, given)
    try:
        return optimize(workflow.net, asked, reflect=reflect, written=workflow.written).response()
    except WorkflowError as error:
        problems = [
            one if one.path.startswith("constraints") else (_below("workflow_spec", one.path), one.message)
            for one in error.problems
        ]
        raise WorkflowError(problems, error.what) from None


def _footprint(given: Mapping[str, Any], _reflect: Reflect | None) -> dict[str, Any]:
    found = footprint(Study(read_workflow(given["workflow"]).net, MAX_STATES))
    return {} if found is None else {"activities": found.activities, "matrix": found.matrix()}


JOBS: Mapping[str, Callable[[Mapping[str, Any], Reflect | None], dict[str, Any]]] = {
    "footprint": _footprint,
    "optimize": _optimize,
    "score": _score,
    "validate": _validate,
}
