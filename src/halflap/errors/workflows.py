"""What can be wrong with a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from halflap.errors.root import HalflapError
from halflap.problems import WorkflowProblem, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.errors.programs import SeedCode

__all__ = ["WorkflowError"]


class WorkflowError(HalflapError):
    """A workflow cannot be read, or is not as it has to be; carries every problem found, each with its path."""

    code = "workflow"
    seed_code: ClassVar[SeedCode] = "INVALID_INPUTS"
    """What the `gepa_` tools have as the `code` of their error objects."""

    def __init__(self, problems: Sequence[tuple[str, str]], what: str = "This is no workflow.") -> None:
        self.problems = tuple(WorkflowProblem(*one) for one in problems)
        super().__init__("\n".join([what, *listed(self.problems)]))
