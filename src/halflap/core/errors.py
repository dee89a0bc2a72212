"""Every failure that Halflap anticipates.

    HalflapError
    ├── ConfigError               mistakes in the configuration, each with file and line
    ├── UsageError                the request is not valid; nothing was done
    │   └── ServerNotFoundError
    ├── RunNotFoundError
    ├── StoreError
    │   ├── StoreTooNewError          written by a newer Halflap
    │   └── StoreBrokenError          damaged, or not a store
    ├── ToolError                 a tool cannot be called, or the call failed
    │   ├── ToolNotFoundError
    │   ├── ToolBlockedError          blocked by the configuration
    │   ├── ToolHeldError             its definition changed since it was accepted
    │   ├── ToolRefusedError          this caller may not call it, or not without confirmation
    │   ├── InvalidArgumentsError
    │   ├── ToolFailedError           the server answered with a protocol error
    │   └── InputRequiredError        the server asks for more input first
    ├── UpstreamError             a server behind Halflap failed
    │   ├── UpstreamUnavailableError  not started or not reachable
    │   │   └── SignInNeededError
    │   ├── UpstreamLostError         connection lost during a call, which may have taken effect
    │   └── CallTimeoutError
    ├── SignInError               signing in to a server failed
    ├── ShapeError                learned data cannot be read
    │   └── ShapeTooNewError
    ├── BackfillError             a log cannot be read to its end
    ├── ScriptError               a file is not a script, or a saved script cannot be used
    ├── ProgramError              a DSPy program failed
    │   ├── ProgramNotFoundError
    │   ├── ProgramBrokenError        its file is invalid
    │   └── ProgramInputsError
    ├── WorkflowError             a workflow is invalid
    ├── ClientFileError           a client's configuration file cannot be read or changed
    ├── BusyError                 too many programs are running
    ├── SandboxError              programs cannot run here
    └── ServeError                our own server cannot start

`code` is stable and `halflap explain CODE` explains it; messages may change. A class exists where code catches it or
its message is built from parts; elsewhere the code is an argument: `UsageError(message, code="file")`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from halflap.core.text import join, plural, quote, shorten

if TYPE_CHECKING:
    from halflap.core.codes import ConfigCode, RaisedCode

SeedCode = Literal["PROGRAM_NOT_FOUND", "INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR", "CACHE_ERROR"]
"""The `code` in error objects of the `dspy_` and `gepa_` tools."""

_SEED_CODES: Mapping[str, SeedCode] = {
    "tool-not-found": "PROGRAM_NOT_FOUND",
    "dspy-program-not-found": "PROGRAM_NOT_FOUND",
    "invalid-arguments": "INVALID_INPUTS",
    "dspy-program-inputs": "INVALID_INPUTS",
    "workflow": "INVALID_INPUTS",
    "busy": "TIMEOUT_ERROR",
    "dspy-program-timeout": "TIMEOUT_ERROR",
    "workflow-timeout": "TIMEOUT_ERROR",
    "workflow-busy": "TIMEOUT_ERROR",
    "dspy-program-cache": "CACHE_ERROR",
}
_MAX_LISTED = 20
"""Problems listed in a message; the exception carries all of them."""
_MAX_NAMED = 10


class HalflapError(Exception):
    """Base class of all errors that Halflap raises on purpose."""

    code: str = "halflap"

    def __init__(self, message: str, *, code: RaisedCode | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code

    @property
    def seed_code(self) -> SeedCode:
        return _SEED_CODES.get(self.code, "EXECUTION_ERROR")


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
    code = "config"

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{problem} [{problem.code}]" for problem in self.problems))


class UsageError(HalflapError):
    code = "usage"


class ServerNotFoundError(UsageError):
    code = "server-not-found"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        from halflap.core.suggest import did_you_mean  # noqa: PLC0415 -- takes 10 ms to import

        servers = f"The servers are: {', '.join(known)}." if known else "No server is configured."
        super().__init__(
            f"There is no server named {quote(name)}. {did_you_mean(name, known, otherwise=servers)}"
        )


class RunNotFoundError(HalflapError):
    code = "run-not-found"

    def __init__(self, identifier: str) -> None:
        super().__init__(
            f"There is no run {quote(identifier)}. It may have expired; `halflap runs` lists the recorded runs."
        )


class StoreError(HalflapError):
    code = "store"


class StoreTooNewError(StoreError):
    code = "store-too-new"


class StoreBrokenError(StoreError):
    code = "store-broken"


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One argument that does not match the tool's input schema."""

    path: str
    expected: str
    received: str
    what: Literal["wrong", "missing", "unknown", "more"] = "wrong"
    """`more` ends a list that was cut short."""

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


class ToolError(HalflapError):
    code = "tool"


class ToolNotFoundError(ToolError):
    """No tool has this name; `unavailable_reason` is set if its server could not be asked."""

    code = "tool-not-found"

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
            lines = [
                f"{quote(name)} can't be found.",
                f"Server {server!r} is not available: {unavailable_reason}",
            ]
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
        self.rule = rule
        super().__init__(f"{quote(name)} is not available: {rule} blocks it.")


class ToolHeldError(ToolError):
    code = "tool-held"

    def __init__(self, name: str, changed: Sequence[str]) -> None:
        super().__init__(
            f"{quote(name)} is held: its {join(changed) or 'definition'} changed since it was accepted. "
            f"Review it with `halflap inspect {name}`, then accept it with `halflap trust --tool {name}`."
        )


class ToolRefusedError(ToolError):
    code = "tool-refused"


class InvalidArgumentsError(ToolError):
    code = "invalid-arguments"

    def __init__(self, name: str, problems: Sequence[ArgumentProblem], signature: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__(
            _listed(f"Invalid arguments for {quote(name)}; nothing was sent.", problems, _takes(signature))
        )


class ToolFailedError(ToolError):
    code = "tool-failed"

    def __init__(self, name: str, server: str, rpc_code: int, message: str, data: Any = None) -> None:
        self.server = server
        self.rpc_code = rpc_code
        self.message = message
        self.data = data
        super().__init__(f"Server {server!r} answered {quote(name)} with error {rpc_code}: {message}")


class InputRequiredError(ToolError):
    """`result` has the server's questions; the client repeats its request with the answers."""

    code = "input-required"

    def __init__(self, name: str, result: Mapping[str, Any]) -> None:
        self.result = result
        super().__init__(f"{quote(name)} asks for more input first.")


class ClientRefusedError(Exception):
    """The client cannot be asked, or answered with an error; returned to the server that asked."""

    def __init__(self, rpc_code: int, message: str, data: Any = None) -> None:
        self.rpc_code = rpc_code
        self.message = message
        self.data = data
        super().__init__(message)


class UpstreamError(HalflapError):
    code = "upstream"

    def __init__(self, server: str, message: str) -> None:
        self.server = server
        self.reason = message
        super().__init__(f"Server {server!r}: {message}")


class UpstreamUnavailableError(UpstreamError):
    code = "upstream-unavailable"


class SignInNeededError(UpstreamUnavailableError):
    code = "sign-in-needed"


class UpstreamLostError(UpstreamError):
    code = "upstream-lost"


class CallTimeoutError(UpstreamError):
    code = "call-timeout"


class SignInError(HalflapError):
    code = "sign-in"


class ShapeError(HalflapError):
    code = "shape-broken"


class ShapeTooNewError(ShapeError):
    code = "shape-too-new"


class BackfillError(HalflapError):
    code = "backfill"


class BusyError(HalflapError):
    """No place became free in time; `retry_after` is in seconds."""

    code = "busy"

    def __init__(self, running: int, unit: str, retry_after: int = 5) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"Halflap is busy running {plural(running, unit)}, and nothing was run. "
            f"Try again in about {retry_after} s."
        )


class SandboxError(HalflapError):
    code = "sandbox"


class ScriptError(HalflapError):
    code = "script"


class ProgramError(HalflapError):
    code = "dspy-program-failed"


class ProgramNotFoundError(ProgramError):
    code = "dspy-program-not-found"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        available = ", ".join(map(shorten, known))
        super().__init__(f"Program not found: {shorten(name)}. Available programs: [{available}]")


class ProgramBrokenError(ProgramError):
    code = "dspy-program-broken"

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        first = f"The DSPy program {quote(name)} cannot be used:"
        super().__init__(f"{first} {problems[0]}" if len(problems) == 1 else _listed(first, problems))


class ProgramInputsError(ProgramError):
    code = "dspy-program-inputs"

    def __init__(
        self, name: str, problems: Sequence[ArgumentProblem] = (), takes: str = "", *, message: str = ""
    ) -> None:
        self.problems = tuple(problems)
        first = f"Invalid inputs for the DSPy program {quote(name)}; nothing was run."
        super().__init__(message or _listed(first, problems, _takes(takes)))


class WorkflowProblem(NamedTuple):
    """One mistake in a workflow."""

    path: str
    """Such as `flows[3].to`; empty for the whole workflow."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class WorkflowError(HalflapError):
    code = "workflow"

    def __init__(
        self, problems: Sequence[tuple[str, str]], what: str = "This is not a valid workflow."
    ) -> None:
        self.problems = tuple(WorkflowProblem(*problem) for problem in problems)
        self.what = what
        super().__init__(_listed(what, self.problems))


class ClientFileError(HalflapError):
    code = "client-file"


class ServeError(HalflapError):
    code = "serve"
