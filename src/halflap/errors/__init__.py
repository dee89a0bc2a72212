"""Every failure that Halflap anticipates.

    HalflapError
    ├── ConfigError             the configuration file: every problem in it, with file and line
    ├── UsageError              the command or call was asked for wrongly
    │   ├── ServerNotFoundError     no server of that name
    │   ├── ScriptNotFoundError     no saved script of that name
    │   ├── ConfirmationNeededError it has to be confirmed, and there is nobody to ask
    │   └── FileError               a file that was named cannot be read or written
    ├── RunNotFoundError        no run of that identifier
    ├── StoreError              the store cannot be used
    │   ├── StoreTooNewError        it was written by a newer Halflap
    │   ├── StoreBrokenError        it is damaged, or not a store
    │   └── StoreAheadError         somebody else has added meanwhile what was to be added
    ├── ToolError               a tool cannot be called, or the call failed
    │   ├── ToolNotFoundError       no tool of that name
    │   ├── ToolBlockedError        the configuration keeps it from being called
    │   ├── ToolHeldError           its definition changed since it was accepted
    │   ├── ToolRefusedError        this caller may not call it, or not without the person's word
    │   ├── InvalidArgumentsError   the arguments do not fit its input schema
    │   └── ToolFailedError         the server answered with a protocol error
    ├── UpstreamError           a server behind Halflap
    │   ├── UpstreamUnavailableError  it did not start, or cannot be reached
    │   ├── UpstreamLostError         the connection broke while a call was under way
    │   └── CallTimeoutError          it did not answer in time
    ├── ShapeError              what was learned, written down, cannot be read
    │   ├── ShapeTooNewError        it was written by a newer Halflap
    │   └── ShapeBrokenError        it is damaged, or nothing of the kind
    ├── BackfillError           a log cannot be read, or not to its end
    ├── ScriptError             a file is no script, or a saved one cannot be used
    ├── ProgramError            a saved DSPy program; `programs.py` has these
    │   ├── ProgramNotFoundError    no DSPy program of that name
    │   ├── ProgramBrokenError      its folder cannot be used: every problem in it, with its place
    │   ├── ProgramInputsError      the inputs do not fit it
    │   ├── ProgramFailedError      it could not be run, or did not come to its end
    │   ├── ProgramTimeoutError     it took longer than it may
    │   └── ProgramCacheError       answers of the language model cannot be kept, or not be read again
    ├── WorkflowError           a workflow is none, or not as it has to be: every problem, with its path
    ├── WorkflowFailedError     what was asked about a workflow could not be found out
    ├── WorkflowTimeoutError    … or took longer than it may
    ├── WorkflowBusyError       … or was not begun, others being looked at
    ├── ClientFileError         a file of a client cannot be read, or not be changed as wanted
    ├── SandboxError            programs cannot run here, or this one could not
    │   └── ScriptsTooDeepError     scripts call each other too deep, or in a circle
    └── ServeError              our own server cannot start
        └── TokenFileError          the token that clients have to send cannot be kept

A message says what was wrong, where, and what to do next. ``code`` is stable and is what scripts
should look at; `halflap explain CODE` says what it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.errors.programs import (
    ProgramBrokenError,
    ProgramCacheError,
    ProgramError,
    ProgramFailedError,
    ProgramInputsError,
    ProgramNotFoundError,
    ProgramTimeoutError,
)
from halflap.errors.root import HalflapError, cut, quoted
from halflap.errors.shapes import ShapeBrokenError, ShapeError, ShapeTooNewError
from halflap.errors.workflows import (
    WorkflowBusyError,
    WorkflowError,
    WorkflowFailedError,
    WorkflowTimeoutError,
)
from halflap.problems import ArgumentProblem, ConfigProblem, WorkflowProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ArgumentProblem",
    "BackfillError",
    "CallTimeoutError",
    "ClientFileError",
    "ConfigError",
    "ConfigProblem",
    "ConfirmationNeededError",
    "FileError",
    "HalflapError",
    "InvalidArgumentsError",
    "ProgramBrokenError",
    "ProgramCacheError",
    "ProgramError",
    "ProgramFailedError",
    "ProgramInputsError",
    "ProgramNotFoundError",
    "ProgramTimeoutError",
    "RunNotFoundError",
    "SandboxError",
    "ScriptError",
    "ScriptNotFoundError",
    "ScriptsTooDeepError",
    "ServeError",
    "ServerNotFoundError",
    "ShapeBrokenError",
    "ShapeError",
    "ShapeTooNewError",
    "StoreAheadError",
    "StoreBrokenError",
    "StoreError",
    "StoreTooNewError",
    "TokenFileError",
    "ToolBlockedError",
    "ToolError",
    "ToolFailedError",
    "ToolHeldError",
    "ToolNotFoundError",
    "ToolRefusedError",
    "UpstreamError",
    "UpstreamLostError",
    "UpstreamUnavailableError",
    "UsageError",
    "WorkflowBusyError",
    "WorkflowError",
    "WorkflowFailedError",
    "WorkflowProblem",
    "WorkflowTimeoutError",
]

_MOST_TOOLS_IN_TEXT = 10


class ConfigError(HalflapError):
    """The configuration cannot be used; carries every problem found, not only the first."""

    code = "config"

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{problem} [{problem.code}]" for problem in self.problems))


class UsageError(HalflapError):
    """What was asked for makes no sense as asked."""

    code = "usage"


class ServerNotFoundError(UsageError):
    """No server of that name is configured."""

    code = "server-not-found"

    def __init__(self, name: str, known: Sequence[str], having: str = "") -> None:
        self.name = name
        self.known = tuple(known)
        there = ", ".join(self.known) or "none"
        super().__init__(f"There is no server named {quoted(name)}{having}. There are: {there}.")


class ScriptNotFoundError(UsageError):
    """No script is saved under that name."""

    code = "script-not-found"


class ConfirmationNeededError(UsageError):
    """A person has to confirm it, and there is nobody to ask."""

    code = "confirmation-needed"


class FileError(UsageError):
    """A file that the person named cannot be read or written."""

    code = "file"


class RunNotFoundError(HalflapError):
    """No run of that identifier is known, at least not to whoever asks."""

    code = "run-not-found"

    def __init__(self, identifier: str) -> None:
        self.identifier = identifier
        super().__init__(
            f"There is no run {identifier!r}. It may have been taken out for its age; `halflap runs` lists those "
            "that there are."
        )


class StoreError(HalflapError):
    """The store cannot be used."""

    code = "store"


class StoreTooNewError(StoreError):
    """The store was written by a newer version of Halflap."""

    code = "store-too-new"


class StoreBrokenError(StoreError):
    """The store is damaged, or the file is not a store."""

    code = "store-broken"


class StoreAheadError(StoreError):
    """Somebody else has added meanwhile what was to be added; nothing of it was."""

    code = "store-ahead"


class ToolError(HalflapError):
    """A tool cannot be called, or its call failed."""

    code = "tool"


class ToolNotFoundError(ToolError):
    """No tool of that name is known."""

    code = "tool-not-found"

    def __init__(
        self,
        name: str,
        server: str | None = None,
        suggestions: Sequence[str] = (),
        *,
        available: Sequence[str] = (),
        of_server: Sequence[str] = (),
        unavailable_reason: str | None = None,
        none_known: bool = False,
    ) -> None:
        self.name = name
        self.server = server
        self.suggestions = tuple(suggestions)
        self.available = tuple(available)
        self.of_server = tuple(of_server)
        self.unavailable_reason = unavailable_reason
        lines = [f"There is no tool named {quoted(name)}."]
        if none_known and server is None:
            lines.append(
                "No tool is known at all: `halflap init` takes in the servers of your clients, `halflap doctor` says how "
                "those are that are configured."
            )
        if unavailable_reason is not None:
            lines = [f"Whether there is a tool {quoted(name)} is not known."]
        if self.suggestions:
            lines.append("Did you mean " + " or ".join(quoted(one) for one in self.suggestions) + "?")
        if unavailable_reason is not None:
            lines.append(f"Server {server!r} is not available: {unavailable_reason}")
        elif server is not None and of_server:
            shown = ", ".join(cut(one) for one in of_server[:_MOST_TOOLS_IN_TEXT])
            more = len(of_server) - _MOST_TOOLS_IN_TEXT
            lines.append(f"Server {server!r} has: {shown}" + (f", and {more} more." if more > 0 else "."))
        elif server is not None:
            lines.append(f"Server {server!r} has none of that name.")
        super().__init__("\n".join(lines))


class ToolBlockedError(ToolError):
    """The configuration keeps this tool from being called."""

    code = "tool-blocked"

    def __init__(self, name: str, rule: str) -> None:
        self.name = name
        self.rule = rule
        super().__init__(f"{quoted(name)} is not available: {rule} keeps it from being called.")


class ToolHeldError(ToolError):
    """The tool's definition is not the one that was accepted, and ``tools.pin`` is ``hold``."""

    code = "tool-held"

    def __init__(self, name: str, changed: Sequence[str]) -> None:
        self.name = name
        self.changed = tuple(changed)
        super().__init__(
            f"{quoted(name)} is held: its {', '.join(self.changed) or 'definition'} changed since it was accepted. "
            f"Look at it with `halflap inspect {name}`, then accept it with `halflap trust --tool {name}`."
        )


class ToolRefusedError(ToolError):
    """This caller may not call the tool, or not without the person's word."""

    code = "tool-refused"


class InvalidArgumentsError(ToolError):
    """The arguments do not fit the tool's input schema; nothing was sent."""

    code = "invalid-arguments"

    def __init__(self, name: str, problems: Sequence[ArgumentProblem], signature: str = "") -> None:
        self.name = name
        self.problems = tuple(problems)
        lines = [f"The arguments do not fit {quoted(name)}; nothing was sent."]
        lines += [f"- {problem}" for problem in self.problems]
        if signature:
            lines.append(f"It takes: {signature}")
        super().__init__("\n".join(lines))


class ToolFailedError(ToolError):
    """The server answered the call with a protocol error instead of a result."""

    code = "tool-failed"

    def __init__(self, name: str, server: str, rpc_code: int, message: str) -> None:
        self.name = name
        self.server = server
        self.rpc_code = rpc_code
        self.message = message
        super().__init__(
            f"Server {server!r} answered the call of {quoted(name)} with error {rpc_code}: {message}"
        )


class UpstreamError(HalflapError):
    """Something about a server behind Halflap; ``server`` is its name."""

    code = "upstream"

    def __init__(self, server: str, message: str) -> None:
        self.server = server
        self.reason = message
        super().__init__(f"Server {server!r}: {message}")


class UpstreamUnavailableError(UpstreamError):
    """The server did not start, or cannot be reached; the call was not sent."""

    code = "upstream-unavailable"


class UpstreamLostError(UpstreamError):
    """The connection broke while a call was under way: it may or may not have taken effect."""

    code = "upstream-lost"


class CallTimeoutError(UpstreamError):
    """The server did not answer in time; it was told that the call is cancelled."""

    code = "call-timeout"


class BackfillError(HalflapError):
    """A log cannot be read, or not to its end; what was learned before that is kept."""

    code = "backfill"


class SandboxError(HalflapError):
    """Programs cannot run here; the message says why."""

    code = "sandbox"


class ScriptsTooDeepError(SandboxError):
    """Scripts call each other deeper than is allowed, perhaps in a circle."""

    code = "scripts-too-deep"


class ScriptError(HalflapError):
    """A file is no script, or a saved one cannot be used; the message says what is wrong in which line."""

    code = "script"


class ClientFileError(HalflapError):
    """A file of a client cannot be read, or not be changed as wanted; it is as it was."""

    code = "client-file"


class ServeError(HalflapError):
    """Our own server cannot start."""

    code = "serve"


class TokenFileError(ServeError):
    """The token that clients have to send cannot be kept in its file, or read from it."""

    code = "token-file"
