"""Everything that is wrong with arguments: what does not fit their schema, and what cannot be sent at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.schema.sendable import read_arguments

if TYPE_CHECKING:
    from halflap.core.errors import ArgumentProblem
    from halflap.schema.validate import Validator

__all__ = ["argument_problems"]


def argument_problems(arguments: Any, validator: Validator | None) -> list[ArgumentProblem]:
    """Say everything that is wrong with arguments; one that cannot be sent hides nothing of the others."""
    sendable = read_arguments(arguments)
    if validator is None or sendable.value is None:
        return sendable.problems
    found = validator.problems(sendable.value)
    if not sendable.problems:
        return found
    # What cannot be sent stands as null in what was checked; only of a number it is known what it is instead.
    odd = {one.path for one in sendable.problems if one.expected != "a number"}
    kept = [one for one in found if not any(_concerns(one, path) for path in odd)]
    told = {one.path for one in kept if one.what != "more"}
    more = [one for one in (*kept, *sendable.problems) if one.what == "more"]
    rest = [one for one in sendable.problems if one.what != "more" and one.path not in told]
    return [*(one for one in kept if one.what != "more"), *rest, *more[:1]]


def _concerns(problem: ArgumentProblem, path: str) -> bool:
    """Say whether a problem may come from what stands at this path, or is about something around it."""
    if problem.path == path:
        return True
    around = not problem.path or path.startswith((f"{problem.path}.", f"{problem.path}["))
    return around and problem.what == "wrong"
