"""What can go wrong with a saved DSPy program; each error also has the code that the `dspy_` tools answer with."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from halflap.errors.root import HalflapError, cut, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.problems import ArgumentProblem

__all__ = [
    "ProgramBrokenError",
    "ProgramCacheError",
    "ProgramError",
    "ProgramFailedError",
    "ProgramInputsError",
    "ProgramNotFoundError",
    "ProgramTimeoutError",
    "SeedCode",
]

SeedCode = Literal["PROGRAM_NOT_FOUND", "INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR", "CACHE_ERROR"]

_MOST_PROBLEMS = 20


class ProgramError(HalflapError):
    """Something about a saved DSPy program."""

    code = "dspy-program"
    seed_code: ClassVar[SeedCode] = "EXECUTION_ERROR"
    """What the `dspy_` tools have as the `code` of their error objects."""


class ProgramNotFoundError(ProgramError):
    """There is no DSPy program of that name."""

    code = "dspy-program-not-found"
    seed_code = "PROGRAM_NOT_FOUND"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(
            f"Program not found: {cut(name)}. Available programs: [{', '.join(map(cut, self.known))}]"
        )


class ProgramBrokenError(ProgramError):
    """The folder of a DSPy program cannot be used; carries every problem found, not only the first."""

    code = "dspy-program-broken"

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        self.name = name
        self.problems = tuple(problems)
        super().__init__(f"The DSPy program {quoted(name)} cannot be used: {self.reason}")

    @property
    def reason(self) -> str:
        """Every problem, without the name of the program."""
        told = list(self.problems[:_MOST_PROBLEMS])
        if len(self.problems) > _MOST_PROBLEMS:
            told.append(f"and {len(self.problems) - _MOST_PROBLEMS} more.")
        return told[0] if len(told) == 1 else "".join(f"\n- {one}" for one in told)


class ProgramInputsError(ProgramError):
    """The inputs do not fit the DSPy program; nothing was run."""

    code = "dspy-program-inputs"
    seed_code = "INVALID_INPUTS"

    def __init__(self, name: str, problems: Sequence[ArgumentProblem], takes: str = "") -> None:
        self.name = name
        self.problems = tuple(problems)
        lines = [f"The inputs do not fit the DSPy program {quoted(name)}; nothing was run."]
        lines += [f"- {problem}" for problem in self.problems]
        if takes:
            lines.append(f"It takes: {takes}")
        super().__init__("\n".join(lines))


class ProgramFailedError(ProgramError):
    """The DSPy program could not be run, or did not come to its end; the message says why."""

    code = "dspy-program-failed"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"The DSPy program {quoted(name)} failed: {reason}")


class ProgramTimeoutError(ProgramError):
    """The DSPy program took longer than it may."""

    code = "dspy-program-timeout"
    seed_code = "TIMEOUT_ERROR"

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.seconds = seconds
        super().__init__(
            f"The DSPy program {quoted(name)} was ended after {seconds:g} s: it may take no longer. "
            "`programs.timeout_seconds` is the limit, or what was left of the time of whoever called it."
        )


class ProgramCacheError(ProgramError):
    """Answers of the language model cannot be kept, or not be read again."""

    code = "dspy-program-cache"
    seed_code = "CACHE_ERROR"

    def __init__(self, reason: str, *, one: bool = False) -> None:
        """Say why; `one` if it is a single answer that was bad."""
        self.reason = reason
        super().__init__(
            f"One kept answer of the language model was bad: {reason} The model is asked for it again; all others stay."
            if one
            else f"Answers of the language model are not kept: {reason} DSPy programs run all the same."
        )
