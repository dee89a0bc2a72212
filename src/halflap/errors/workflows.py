"""What can be wrong with a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from halflap.errors.root import HalflapError
from halflap.problems import WorkflowProblem, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.errors.programs import SeedCode

__all__ = ["WorkflowError", "WorkflowFailedError", "WorkflowTimeoutError"]


class WorkflowError(HalflapError):
    """A workflow cannot be read, or is not as it has to be; carries every problem found, each with its path."""

    code = "workflow"
    seed_code: ClassVar[SeedCode] = "INVALID_INPUTS"
    """What the `gepa_` tools have as the `code` of their error objects."""

    def __init__(self, problems: Sequence[tuple[str, str]], what: str = "This is no workflow.") -> None:
        self.problems = tuple(WorkflowProblem(*one) for one in problems)
        self.what = what
        super().__init__("\n".join([what, *listed(self.problems)]))


class WorkflowFailedError(HalflapError):
    """What was to be found out about a workflow could not be: the process that was at it ended."""

    code = "workflow-failed"
    seed_code: ClassVar[SeedCode] = "EXECUTION_ERROR"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The workflow could not be looked at: {reason}")


class WorkflowTimeoutError(HalflapError):
    """What was to be found out about a workflow took longer than it may."""

    code = "workflow-timeout"
    seed_code: ClassVar[SeedCode] = "TIMEOUT_ERROR"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"It was ended after {seconds:g} s: it may take no longer. `workflows.timeout_seconds` is the limit; a "
            "workflow that is made of blocks is looked at much faster than another of the same size."
        )
