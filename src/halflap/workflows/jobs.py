"""What can be asked about workflows, as data: arguments in, an answer out, and every mistake in the arguments at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from rapidfuzz import fuzz, process

from halflap.core.errors import WorkflowError
from halflap.workflows.constraints import read_constraints
from halflap.workflows.form import read_specification
from halflap.workflows.optimize import TARGETS, optimize
from halflap.workflows.orblocks import in_words, or_blocks
from halflap.workflows.score import read_patterns, read_weights, score
from halflap.workflows.structure import structure
from halflap.workflows.validate import validate_footprint
from halflap.workflows.validation import Mode
from halflap.workflows.yawl import read_yawl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from halflap.workflows.net import Net

__all__ = ["JOBS", "do", "not_made_of_blocks", "read_workflow"]

_YAWL = "yawl"
_WORDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
_MEANT = 60
_WORKFLOWS = ("workflow", "workflow_spec", "original_workflow", "optimized_workflow")
_SOON_TOLD = 5_000
"""So many flows."""


def do(job: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Do one of the jobs; a `WorkflowError` has all that is wrong with the arguments."""
    return JOBS[job](arguments)


def read_workflow(value: Any) -> Net:
    """Read a workflow: in the JSON form, with or without sub-nets, or as `{"yawl": the XML of a specification}`.

    Of one with sub-nets it is the root.
    """
    if isinstance(value, dict) and _YAWL in value:
        if len(value) > 1:
            others = ", ".join(repr(one) for one in sorted(map(str, value)) if one != _YAWL)
            raise WorkflowError([("", f"Beside 'yawl' there can be nothing; there is {others}.")])
        text = value[_YAWL]
        if not isinstance(text, str):
            raise WorkflowError(
                [(_YAWL, f"It has to be the XML of a specification as text, not {_word(text)}.")]
            )
        try:
            return read_yawl(text).net
        except WorkflowError as error:
            raise WorkflowError([(f"{_YAWL}: {one.path}", one.message) for one in error.problems]) from None
    return read_specification(value).net


def not_made_of_blocks(arguments: Mapping[str, Any]) -> str | None:
    """Give the first argument that is a workflow of which it can soon be told that it is not made of blocks."""
    for name, value in arguments.items():
        if not isinstance(value, dict) or name not in _WORKFLOWS:
            continue
        try:
            net = read_workflow(value)
        except WorkflowError:
            continue
        if len(net.flows) <= _SOON_TOLD and structure(net).tree is None:
            return name
    return None


def _check_or_gates(net: Net, value: Mapping[str, Any]) -> None:
    """Refuse or-gates that form no block with the rest of what is wrong, and not only when states are looked at."""
    gates = {gate for task in net.tasks.values() for gate in (task.join, task.split)}
    if "or" not in gates or structure(net).tree is not None:
        return
    try:
        or_blocks(net)
    except WorkflowError as error:
        problems = [
            (
                f"{_YAWL}: {in_words(net, one.path)}" if _YAWL in value else f"{_root(value)}{one.path}",
                one.message,
            )
            for one in error.problems
        ]
        raise WorkflowError(problems) from None


def _root(value: Mapping[str, Any]) -> str:
    """Give where in an argument the net stands that is looked at."""
    nets = value.get("nets", ())
    return next((f"nets[{at}]." for at, one in enumerate(nets) if one.get("id") == value.get("root")), "")


@contextmanager
def _told_of(name: str) -> Iterator[None]:
    """Have what is wrong with a workflow told with the name of the argument that it is."""
    try:
        yield
    except WorkflowError as error:
        raise WorkflowError(
            [(_below(name, one.path), one.message) for one in error.problems], error.what
        ) from None


class _Arguments:
    """Arguments as they are read, with what was found wrong."""

    def __init__(self, given: Mapping[str, Any], known: Sequence[str]) -> None:
        self._given = given
        self.problems: list[tuple[str, str]] = []
        for name in given:
            if name not in known:
                near = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=_MEANT)
                meant = f"There are {', '.join(known)}." if near is None else f"Did you mean {near[0]!r}?"
                self.problems.append((name, f"There is no such parameter. {meant}"))

    def workflow(self, name: str) -> Net | None:
        value = self._given.get(name)
        if value is None or value == {}:
            self.problems.append(("", f"Parameter '{name}' is required and must not be empty"))
            return None
        if not isinstance(value, dict):
            self.problems.append((name, f"It has to be an object, a workflow, not {_word(value)}."))
            return None
        try:
            net = read_workflow(value)
            _check_or_gates(net, value)
        except WorkflowError as error:
            self.problems += [(_below(name, one.path), one.message) for one in error.problems]
            return None
        return net

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> str:
        value = self._given.get(name)
        # Null is as if it were left out.
        value = default if value is None else value
        if value is None or value == "":
            self.problems.append(("", f"Parameter '{name}' is required and must not be empty"))
        elif value not in options:
            said = repr(value) if isinstance(value, str) else _word(value)
            self.problems.append((name, f"It has to be one of {', '.join(options)}, not {said}."))
        return str(value)

    def check(self) -> None:
        if self.problems:
            raise WorkflowError(self.problems, "The arguments are not as they have to be.")


def _validate(given: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _Arguments(given, ("original_workflow", "optimized_workflow", "validation_mode"))
    original = arguments.workflow("original_workflow")
    optimized = arguments.workflow("optimized_workflow")
    mode: Any = arguments.choice("validation_mode", get_args(Mode), "balanced")
    arguments.check()
    assert original is not None
    assert optimized is not None
    return validate_footprint(original, optimized, mode).response()


def _score(given: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _Arguments(given, ("workflow", "reference_patterns", "scoring_weights"))
    net = arguments.workflow("workflow")
    patterns = given.get("reference_patterns")
    if patterns is None:
        arguments.problems.append(("", "Parameter 'reference_patterns' is required"))
    else:
        read_patterns(patterns, arguments.problems)
    weights = given.get("scoring_weights")
    read_weights(weights, arguments.problems)
    arguments.check()
    assert net is not None
    assert patterns is not None
    with _told_of("workflow"):
        return score(net, patterns, weights).response()


def _optimize(given: Mapping[str, Any]) -> dict[str, Any]:
    known = ("workflow_spec", "optimization_target", "constraints", "reference_patterns")
    arguments = _Arguments(given, known)
    net = arguments.workflow("workflow_spec")
    target = arguments.choice("optimization_target", TARGETS)
    constraints = given.get("constraints")
    # Which tasks there are is not known of a workflow that could not be read.
    if net is not None:
        read_constraints(constraints, net, arguments.problems)
    patterns = given.get("reference_patterns")
    patterns = () if patterns is None else patterns
    read_patterns(patterns, arguments.problems)
    arguments.check()
    assert net is not None
    with _told_of("workflow_spec"):
        return optimize(net, target, constraints, patterns).response()


JOBS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "optimize": _optimize,
    "score": _score,
    "validate": _validate,
}
"""By name."""


def _below(name: str, path: str) -> str:
    return name if not path else f"{name}{path}" if path.startswith("[") else f"{name}.{path}"


def _word(value: Any) -> str:
    return "null" if value is None else _WORDS.get(type(value), "an object")
