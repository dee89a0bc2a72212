"""What can be wrong with a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from halflap.errors.root import HalflapError
from halflap.problems import WorkflowProblem, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.errors.programs import SeedCode

__all__ = ["WorkflowBusyError", "WorkflowError", "WorkflowFailedError", "WorkflowTimeoutError"]


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

    def __init__(self, seconds: float, loose: str | None = None) -> None:
        """Begin; `loose` is the argument that is a workflow which is not made of blocks."""
        self.seconds = seconds
        hint = (
            "Ask about a part of it, or raise the limit."
            if loose is None
            else f"'{loose}' is not made of blocks; one that is is looked at much faster."
        )
        super().__init__(
            f"It was ended after {seconds:g} s of work: it may take no longer. `workflows.timeout_seconds` is the limit. {hint}"
        )


class WorkflowBusyError(HalflapError):
    """What was to be found out about a workflow was not begun: others were being looked at all the time."""

    code = "workflow-busy"
    seed_code: ClassVar[SeedCode] = "TIMEOUT_ERROR"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"It waited {seconds:g} s for its turn and was never begun: Halflap is busy with other workflows. Nothing is wrong "
            "with this one; ask again."
        )
