"""Every failure that Halflap anticipates.

    HalflapError
    ├── ConfigError               the configuration: every problem, with file and line
    ├── UsageError                the request makes no sense as asked
    │   ├── ServerNotFoundError
    │   ├── ScriptNotFoundError
    │   ├── ConfirmationNeededError   a person has to confirm, and none can be asked
    │   └── FileError                 a named file cannot be read or written
    ├── RunNotFoundError
    ├── StoreError
    │   ├── StoreTooNewError          written by a newer Halflap
    │   ├── StoreBrokenError          damaged, or not a store
    │   └── StoreAheadError           another process added the same thing first
    ├── RecordFailedError         `traces.required`, and it cannot be recorded
    ├── ToolError                 a tool cannot be called, or the call failed
    │   ├── ToolNotFoundError
    │   ├── ToolBlockedError          blocked by the configuration
    │   ├── ToolHeldError             its definition changed since it was accepted
    │   ├── ToolRefusedError          this caller may not call it, or not without confirmation
    │   ├── InvalidArgumentsError
    │   ├── ToolFailedError           the server answered with a protocol error
    │   └── InputRequiredError        the server asks for more input first
    ├── UpstreamError             a server behind Halflap
    │   ├── UpstreamUnavailableError  not started or not reachable
    │   │   └── SignInNeededError         a person has to sign in first
    │   ├── UpstreamLostError         connection lost during a call, which may have taken effect
    │   └── CallTimeoutError
    ├── SignInError               signing in to a server failed
    ├── ShapeError                a stored learned shape
    │   ├── ShapeTooNewError
    │   └── ShapeBrokenError
    ├── BackfillError             a log cannot be read to its end
    ├── ScriptError               a file is not a script, or a saved script cannot be used
    ├── ProgramError              a saved DSPy program
    │   ├── ProgramNotFoundError
    │   ├── ProgramBrokenError        its folder is invalid: every problem
    │   ├── ProgramInputsError
    │   ├── ProgramFailedError
    │   ├── ProgramTimeoutError
    │   └── ProgramCacheError
    ├── WorkflowError             a workflow is invalid: every problem, with its path
    ├── WorkflowFailedError       the analysis of a workflow failed
    ├── WorkflowTimeoutError
    ├── WorkflowBusyError
    ├── ClientFileError           a client's configuration file cannot be read or changed
    ├── BusyError                 too many programs are running; try again later
    ├── SandboxError              programs cannot run here
    │   └── ScriptsTooDeepError       scripts call each other too deeply
    ├── ServeError                our own server cannot start
    │   └── TokenFileError
    └── DemoError                 the demo did not show what it should

A message says what is wrong, where, and what to do next. `code` is stable: scripts should look at it, and
`halflap explain CODE` explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from halflap.core.text import join, quote, shorten

if TYPE_CHECKING:
    from halflap.core.codes import ConfigCode

SeedCode = Literal["PROGRAM_NOT_FOUND", "INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR", "CACHE_ERROR"]
"""The `code` in error objects of the `dspy_` and `gepa_` tools."""

_MAX_LISTED = 20
"""Problems that a message lists; the exception carries them all."""
_MAX_NAMED = 10


class HalflapError(Exception):
    """The root: anything that Halflap raises on purpose."""

    code: ClassVar[str] = "halflap"
    seed_code: ClassVar[SeedCode] = "EXECUTION_ERROR"


@dataclass(frozen=True, slots=True, order=True)
class ConfigProblem:
    """One mistake in a configuration file."""

    file: Path | None
    line: int | None
    message: str
    suggestion: str | None = None
    code: ConfigCode = "config-wrong-value"

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        where = "" if self.file is None else f"{self.file}{line}: "
        then = "" if self.suggestion is None else f" {self.suggestion}"
        return f"{where}{self.message}{then}"


class ConfigError(HalflapError):
    """The configuration cannot be used. Carries every problem found, not only the first."""

    code = "config"

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{problem} [{problem.code}]" for problem in self.problems))


class UsageError(HalflapError):
    code = "usage"


class ServerNotFoundError(UsageError):
    code = "server-not-found"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        there = f"The servers are: {', '.join(self.known)}." if known else "No server is configured."
        super().__init__(f"There is no server named {quote(name)}. {there}")


class ScriptNotFoundError(UsageError):
    code = "script-not-found"


class ConfirmationNeededError(UsageError):
    code = "confirmation-needed"


class FileError(UsageError):
    code = "file"


class RunNotFoundError(HalflapError):
    code = "run-not-found"

    def __init__(self, identifier: str) -> None:
        super().__init__(
            f"There is no run {quote(identifier)}. It may have expired; `halflap runs` lists the runs on record."
        )


class StoreError(HalflapError):
    code = "store"


class StoreTooNewError(StoreError):
    code = "store-too-new"


class StoreBrokenError(StoreError):
    code = "store-broken"


class StoreAheadError(StoreError):
    code = "store-ahead"


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One argument that does not match the tool's input schema."""

    path: str
    expected: str
    received: str
    what: Literal["wrong", "missing", "unknown", "more"] = "wrong"
    """`more` is not about an argument: it ends a list that was cut short."""

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        if self.what == "missing":
            return f"{where}missing; expected {self.expected}"
        if self.what in {"unknown", "more"}:
            return f"{where}{self.expected}"
        return f"{where}expected {self.expected}, received {self.received}"


def _listed(first: str, problems: Sequence[object], last: str = "") -> str:
    more = len(problems) - _MAX_LISTED
    lines = [f"- {problem}" for problem in problems[:_MAX_LISTED]]
    return "\n".join([first, *lines, *([f"and {more} more."] if more > 0 else []), *([last] if last else [])])


def _takes(signature: str) -> str:
    return f"It takes: {signature}" if signature else ""


class RecordFailedError(HalflapError):
    code = "record-failed"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"This was not done, because it cannot be recorded and `traces.required` is set. {reason} "
            "See `halflap doctor`."
        )


class ToolError(HalflapError):
    """A tool cannot be called, or the call failed."""

    code = "tool"


class ToolNotFoundError(ToolError):
    """No tool of that name is known; `unavailable_reason` is set where its server can't be asked."""

    code = "tool-not-found"
    seed_code = "PROGRAM_NOT_FOUND"

    def __init__(
        self,
        name: str,
        server: str | None = None,
        suggestions: Sequence[str] = (),
        *,
        available: Sequence[str] = (),
        of_server: Sequence[str] = (),
        servers: Sequence[str] = (),
        unavailable_reason: str | None = None,
    ) -> None:
        self.name = name
        self.server = server
        self.suggestions = tuple(suggestions)
        self.available = tuple(available)
        self.of_server = tuple(of_server)
        self.unavailable_reason = unavailable_reason
        lines = [f"There is no tool named {quote(name)}."]
        if unavailable_reason is not None:
            lines = [f"Can't check {quote(name)}: server {server!r} is not available. {unavailable_reason}"]
        elif not available and not servers:
            lines.append("No server is configured: `halflap init` imports servers from your other clients.")
        if suggestions:
            lines.append(f"Did you mean {join(map(quote, suggestions), 'or')}?")
        if server is not None and unavailable_reason is None:
            tools = join(map(shorten, of_server), limit=_MAX_NAMED)
            lines.append(f"Server {server!r} has{f': {tools}' if tools else ' no such tool'}.")
        elif server is None and servers and name.startswith("mcp__"):
            lines.append(f"No server has this prefix. The servers are: {join(servers, limit=_MAX_NAMED)}.")
        super().__init__("\n".join(lines))


class ToolBlockedError(ToolError):
    code = "tool-blocked"

    def __init__(self, name: str, rule: str) -> None:
        self.name = name
        self.rule = rule
        super().__init__(f"{quote(name)} is not available: {rule} blocks it.")


class ToolHeldError(ToolError):
    code = "tool-held"

    def __init__(self, name: str, changed: Sequence[str]) -> None:
        self.name = name
        super().__init__(
            f"{quote(name)} is held: its {', '.join(changed) or 'definition'} changed since it was accepted. "
            f"Review it with `halflap inspect {name}`, then accept it with `halflap trust --tool {name}`."
        )


class ToolRefusedError(ToolError):
    code = "tool-refused"


class InvalidArgumentsError(ToolError):
    code = "invalid-arguments"
    seed_code = "INVALID_INPUTS"

    def __init__(self, name: str, problems: Sequence[ArgumentProblem], signature: str = "") -> None:
        self.name = name
        self.problems = tuple(problems)
        super().__init__(
            _listed(f"Invalid arguments for {quote(name)}; nothing was sent.", problems, _takes(signature))
        )


class ToolFailedError(ToolError):
    code = "tool-failed"

    def __init__(self, name: str, server: str, rpc_code: int, message: str, data: Any = None) -> None:
        self.name = name
        self.server = server
        self.rpc_code = rpc_code
        self.message = message
        self.data = data
        super().__init__(f"Server {server!r} answered {quote(name)} with error {rpc_code}: {message}")


class InputRequiredError(ToolError):
    """A server answered a request with questions; ``result`` goes to the client, which repeats it with the answers."""

    code = "input-required"

    def __init__(self, name: str, result: Mapping[str, Any]) -> None:
        self.result = result
        super().__init__(f"{quote(name)} asks for more input first.")


class ClientRefusedError(Exception):
    """The client cannot be asked, or answered with an error; goes back to the server that asked."""

    def __init__(self, rpc_code: int, message: str, data: Any = None) -> None:
        self.rpc_code = rpc_code
        self.message = message
        self.data = data
        super().__init__(message)


class UpstreamError(HalflapError):
    """A failure of a server behind Halflap; ``server`` is its name."""

    code = "upstream"

    def __init__(self, server: str, message: str) -> None:
        self.server = server
        self.reason = message
        super().__init__(f"Server {server!r}: {message}")


class UpstreamUnavailableError(UpstreamError):
    code = "upstream-unavailable"


class SignInNeededError(UpstreamUnavailableError):
    """The server wants a person to sign in; the message has the command."""

    code = "sign-in-needed"


class UpstreamLostError(UpstreamError):
    code = "upstream-lost"


class CallTimeoutError(UpstreamError):
    code = "call-timeout"


class SignInError(HalflapError):
    code = "sign-in"


class ShapeError(HalflapError):
    code = "shape"


class ShapeTooNewError(ShapeError):
    code = "shape-too-new"


class ShapeBrokenError(ShapeError):
    code = "shape-broken"


class BackfillError(HalflapError):
    code = "backfill"


class BusyError(HalflapError):
    """No place became free in time; `retry_after` is in seconds."""

    code = "busy"
    seed_code = "TIMEOUT_ERROR"

    def __init__(self, running: int, what: str, retry_after: int = 5) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"Halflap is busy: {running} {what} are running. Nothing was run. Try again in about {retry_after} s."
        )


class SandboxError(HalflapError):
    code = "sandbox"


class ScriptsTooDeepError(SandboxError):
    code = "scripts-too-deep"


class ScriptError(HalflapError):
    code = "script"


class ProgramError(HalflapError):
    code = "dspy-program"


class ProgramNotFoundError(ProgramError):
    code = "dspy-program-not-found"
    seed_code = "PROGRAM_NOT_FOUND"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(
            f"Program not found: {shorten(name)}. Available programs: [{', '.join(map(shorten, self.known))}]"
        )


class ProgramBrokenError(ProgramError):
    """The folder of a DSPy program is invalid. Carries every problem found, not only the first."""

    code = "dspy-program-broken"

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        self.name = name
        self.problems = tuple(problems)
        first = f"The DSPy program {quote(name)} cannot be used:"
        super().__init__(f"{first} {problems[0]}" if len(problems) == 1 else _listed(first, problems))


class ProgramInputsError(ProgramError):
    code = "dspy-program-inputs"
    seed_code = "INVALID_INPUTS"

    def __init__(
        self, name: str, problems: Sequence[ArgumentProblem] = (), takes: str = "", *, message: str = ""
    ) -> None:
        self.name = name
        self.problems = tuple(problems)
        first = f"Invalid inputs for the DSPy program {quote(name)}; nothing was run."
        super().__init__(message or _listed(first, problems, _takes(takes)))


class ProgramFailedError(ProgramError):
    code = "dspy-program-failed"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"The DSPy program {quote(name)} failed: {reason}")


class ProgramTimeoutError(ProgramError):
    code = "dspy-program-timeout"
    seed_code = "TIMEOUT_ERROR"


class ProgramCacheError(ProgramError):
    code = "dspy-program-cache"
    seed_code = "CACHE_ERROR"


class WorkflowProblem(NamedTuple):
    """One mistake in a workflow."""

    path: str
    """Such as `flows[3].to`; empty for the whole workflow."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class WorkflowError(HalflapError):
    """A workflow is invalid. Carries every problem found, each with its path."""

    code = "workflow"
    seed_code = "INVALID_INPUTS"

    def __init__(
        self, problems: Sequence[tuple[str, str]], what: str = "This is not a valid workflow."
    ) -> None:
        self.problems = tuple(WorkflowProblem(*problem) for problem in problems)
        self.what = what
        super().__init__(_listed(what, self.problems))


class WorkflowFailedError(HalflapError):
    code = "workflow-failed"


class WorkflowTimeoutError(HalflapError):
    code = "workflow-timeout"
    seed_code = "TIMEOUT_ERROR"


class WorkflowBusyError(HalflapError):
    code = "workflow-busy"
    seed_code = "TIMEOUT_ERROR"


class ClientFileError(HalflapError):
    code = "client-file"


class ServeError(HalflapError):
    code = "serve"


class TokenFileError(ServeError):
    code = "token-file"


class DemoError(HalflapError):
    code = "demo"
