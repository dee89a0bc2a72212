"""The questions of the gepa tools: arguments in, an answer out, and every mistake in the arguments at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from halflap.core.errors import WorkflowError
from halflap.core.suggest import did_you_mean
from halflap.core.text import join
from halflap.workflows.analysis.compare import Mode, compare
from halflap.workflows.model.form import read_specification, write_net
from halflap.workflows.model.orblocks import check_or_gates
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.optimize.optimizer import TARGETS, optimize
from halflap.workflows.score.score import read_patterns, read_weights, score
from halflap.workflows.transform.constraints import read_constraints
from halflap.workflows.yawl import read_yawl, write_yawl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.workflows.model.net import Net, Specification

__all__ = ["JOBS", "Workflow", "read_workflow", "unstructured"]

_WORKFLOWS = ("workflow", "workflow_spec", "original_workflow", "optimized_workflow")
_QUICKLY_REDUCED = 5_000
"""Flows of a net that is reduced within a second or so."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as it was given, and how to write one back in the same form."""

    specification: Specification
    is_yawl: bool

    @property
    def net(self) -> Net:
        return self.specification.net

    def written(self, net: Net) -> Any:
        if not self.is_yawl:
            return write_net(net)
        nets = {**self.specification.nets, self.specification.root: net}
        return {"yawl": write_yawl(replace(self.specification, nets=nets))}


def read_workflow(value: Any) -> Workflow:
    """Read a workflow in the JSON form, with or without sub-nets, or as `{"yawl": the XML of a specification}`."""
    if not isinstance(value, dict) or "yawl" not in value or "nets" in value:
        found = Workflow(read_specification(value), is_yawl=False)
    elif len(value) > 1 or not isinstance(value["yawl"], str):
        raise WorkflowError([("yawl", "It must be the XML of a specification, with no other key beside it.")])
    else:
        try:
            found = Workflow(read_yawl(value["yawl"]), is_yawl=True)
        except WorkflowError as error:
            raise WorkflowError([(f"yawl: {one.path}", one.message) for one in error.problems]) from None
    check_or_gates(found.specification, is_yawl=found.is_yawl)
    return found


def unstructured(arguments: Mapping[str, Any]) -> str | None:
    """Return the first argument that is a workflow which is quickly seen not to be block-structured."""
    for name in _WORKFLOWS:
        try:
            net = read_workflow(arguments[name]).net
        except (WorkflowError, LookupError):
            continue
        if len(net.flows) <= _QUICKLY_REDUCED and structure_of(net).block is None:
            return name
    return None


class _Arguments:
    """Arguments while they are read, with the problems found so far."""

    def __init__(self, given: Mapping[str, Any], known: Sequence[str]) -> None:
        self.given = given
        self.problems: list[tuple[str, str]] = []
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known, otherwise=f"There are {join(known)}.")
                self.problems.append((name, f"Unknown parameter. {hint}"))

    def workflow(self, name: str) -> Workflow | None:
        value = self.given.get(name)
        if value is None or value == {}:
            self.problems.append(("", f"Parameter '{name}' is required and must not be empty"))
            return None
        try:
            return read_workflow(value)
        except WorkflowError as error:
            self.problems += [(_below(name, one.path), one.message) for one in error.problems]
            return None

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> Any:
        value = self.given.get(name)
        value = default if value is None else value
        if value is None or value == "":
            self.problems.append(("", f"Parameter '{name}' is required and must not be empty"))
        elif value not in options:
            self.problems.append((name, f"It must be one of {join(options, 'or')}, not {value!r}."))
        return value

    def check(self) -> None:
        if self.problems:
            raise WorkflowError(self.problems, "The arguments are invalid.")


def _below(name: str, path: str) -> str:
    return name if not path else f"{name}{path}" if path.startswith("[") else f"{name}.{path}"


def _validate(given: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _Arguments(given, ("original_workflow", "optimized_workflow", "validation_mode"))
    original = arguments.workflow("original_workflow")
    optimized = arguments.workflow("optimized_workflow")
    mode = arguments.choice("validation_mode", get_args(Mode), "balanced")
    arguments.check()
    assert original is not None
    assert optimized is not None
    return compare(original.net, optimized.net, mode).response()


def _score(given: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _Arguments(given, ("workflow", "reference_patterns", "scoring_weights"))
    workflow = arguments.workflow("workflow")
    patterns, weights = given.get("reference_patterns"), given.get("scoring_weights")
    if patterns is None:
        arguments.problems.append(("", "Parameter 'reference_patterns' is required"))
    else:
        read_patterns(patterns, arguments.problems)
    read_weights(weights, arguments.problems)
    arguments.check()
    assert workflow is not None
    assert patterns is not None
    return score(workflow.net, patterns, weights).response()


def _optimize(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("workflow_spec", "optimization_target", "constraints", "reference_patterns")
    arguments = _Arguments(given, names)
    workflow = arguments.workflow("workflow_spec")
    target = arguments.choice("optimization_target", TARGETS)
    constraints, patterns = given.get("constraints"), given.get("reference_patterns") or ()
    if workflow is not None:
        read_constraints(constraints, workflow.net, arguments.problems)
    read_patterns(patterns, arguments.problems)
    arguments.check()
    assert workflow is not None
    try:
        return optimize(workflow.net, target, constraints, patterns).response(workflow.written)
    except WorkflowError as error:
        problems = [(_below("workflow_spec", one.path), one.message) for one in error.problems]
        raise WorkflowError(problems, error.what) from None


JOBS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "optimize": _optimize,
    "score": _score,
    "validate": _validate,
}
