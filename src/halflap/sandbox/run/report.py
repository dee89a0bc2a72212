"""The output of a run, and its report as data and as text for the model."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from halflap.core.codes import RunCode
from halflap.core.text import visible
from halflap.sandbox.media import for_model

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.sandbox.sandbox import Ending

OutputPlace = Literal["stored", "memory", "off", "failed"]
"""Where whole outputs are: in the store; in memory, because the store cannot be opened; nowhere, as configured; or perhaps
nowhere, because the store fails."""

_REST = {
    "stored": "All of it: `halflap runs show {run} --output`, or the resource halflap://runs/{run}/output.",
    "memory": "All of it, until this server stops: the resource halflap://runs/{run}/output. The store cannot be opened.",
    "failed": "The rest may be lost: the store does not work now.",
    "off": "The rest was not kept (`traces.record`).",
}
_CODES: dict[str, RunCode] = {code.removeprefix("run-"): code for code in get_args(RunCode)}
_LIMITS = {
    "timeout": ("TimeoutError: Execution exceeded {:g}s", "timeout_seconds"),
    "cpu": ("CPUTimeError: Execution exceeded {}s of CPU", "cpu_seconds"),
    "memory": ("MemoryError: Execution exceeded {} MiB", "max_memory_mb"),
    "output": ("OutputError: Execution exceeded {:,} bytes of output", "max_kept_output_bytes"),
}
"""The outcomes that are limits: the message, and the setting."""
_IMPOSED = {
    "misused": "The program was stopped: it sent {} through its channel to Halflap.",
    "crashed": "The program was stopped: {}.",
    "cancelled": "The program was cancelled.",
}
_MAX_CALLS = 40
"""How many calls are listed after a failure; of more, the first and the last."""
_MAX_NAME = 200
_MAX_DETAIL = 300
_MAX_ERROR = 24_000
"""An honest sandbox cuts the text itself; a dishonest one is cut here."""


class Output:
    """The output of one run."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")
        self._printed: list[str] = []
        self._recorded: list[str] = []
        """The same, with a note where something was shown."""
        self._printed_bytes = self._shown_bytes = 0
        self._left_out: Counter[str] = Counter()
        """The number of blocks that were not shown, by the limit."""
        self.shown: list[Mapping[str, str]] = []
        """Content blocks for the model."""

    def write(self, data: bytes) -> bool:
        """Keep printed text, up to the limit; return False beyond it."""
        room = self._config.max_kept_output_bytes - self._printed_bytes
        self._printed_bytes += len(data)
        text = self._decoder.decode(data[: max(room, 0)])
        self._printed.append(text)
        self._recorded.append(text)
        return len(data) <= room

    def show(self, block: Mapping[str, Any]) -> bool:
        """Keep an image or a sound for the model, within the limits; return False if it is neither."""
        try:
            cleaned = for_model(block)
        except ValueError:
            return False
        size = len(cleaned["data"])
        needed = {"max_shown": len(self.shown) + 1, "max_shown_bytes": self._shown_bytes + size}
        for limit, count in needed.items():
            if count > getattr(self._config, limit):
                self._left_out[limit] += 1
                return True
        self._shown_bytes += size
        self.shown.append(cleaned)
        is_new_line = not self._recorded or self._recorded[-1].endswith("\n")
        note = f"[shown: {cleaned['type']} {cleaned['mimeType']}, {size * 3 // 4:,} bytes]\n"
        self._recorded.append(note if is_new_line else f"\n{note}")
        return True

    @property
    def text(self) -> str:
        """Everything printed, with a note about what was not shown."""
        return self._with_note("".join(self._printed))

    @property
    def recorded(self) -> str:
        """The same, with notes where something was shown."""
        return self._with_note("".join(self._recorded))

    def _with_note(self, text: str) -> str:
        if not self._left_out:
            return text
        lines = [text.removesuffix("\n")] if text else []
        lines += [
            f"({count:,} images or sounds were not shown; the limit is `execution.{limit}`, "
            f"{getattr(self._config, limit):,})"
            for limit, count in self._left_out.items()
        ]
        return "\n".join([*lines, ""])

    def fit(self) -> tuple[str, int | None]:
        """Return the text for the model, cut at a character if it is too much, and then the size of all of it."""
        encoded, most = self.text.encode(), self._config.max_output_bytes
        if len(encoded) <= most:
            return self.text, None
        return encoded[:most].decode(errors="ignore"), len(encoded)


@dataclass(frozen=True, slots=True)
class CallMade:
    name: str
    outcome: str
    duration_ms: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """A program that was run: how it ended, what it printed, and the text for the model."""

    run: str
    outcome: str
    text: str
    output: str
    """Everything that it printed."""
    error: str = ""
    """How it failed, as in the text."""
    value: Any = None
    """What a script's `main` returned."""
    shown: Sequence[Mapping[str, Any]] = ()
    """Images and sounds that it showed, as content blocks."""
    calls: Sequence[CallMade] = ()
    duration_ms: float = 0.0
    cpu_ms: float | None = None
    memory_bytes: int | None = None
    sandbox: str = ""
    is_truncated: bool = False
    check_skipped: str | None = None
    """Why it was not checked before it ran, if it should have been."""

    @property
    def code(self) -> RunCode | None:
        """The error code; None if the program ran to its end."""
        return _CODES.get(self.outcome)

    @property
    def ok(self) -> bool:
        """Whether the program ran to its end."""
        return self.outcome == "ok"


def report_text(
    execution: Execution, printed: str, whole: int | None, place: OutputPlace, config: ExecutionConfig
) -> str:
    """Return the text for the model. `printed` is what fits of the output, `whole` its size if that is not all."""
    lines = ["[Script executed successfully]" if execution.ok else "[Script execution failed]"]
    if printed.strip():
        lines.append(printed.removesuffix("\n"))
    elif execution.ok and whole is None and not execution.shown:
        lines.append("(no output)")
    if whole is not None:
        lines.append("... (truncated)")
        lines.append(
            f"The output is {whole:,} bytes; {config.max_output_bytes:,} of them are shown "
            f"(`execution.max_output_bytes`). {_REST[place].format(run=execution.run)}"
        )
    if execution.outcome == "mistaken":
        lines += [execution.error, "No tool was called."]
    elif execution.error:
        lines += [execution.error, *calls_made(execution.calls)]
    return "\n".join(lines)


def failure_text(ending: Ending, config: ExecutionConfig, doubts: str = "") -> str:
    """Return how a program failed, or an empty text if it did not."""
    outcome = ending.outcome
    if outcome == "ok":
        return ""
    parts = [_IMPOSED[outcome].format(ending.error) if outcome in _IMPOSED else ending.error.rstrip("\n")]
    if outcome in _LIMITS:
        message, setting = _LIMITS[outcome]
        parts.append(f"{message.format(getattr(config, setting))} limit")
        parts.append(f"The limit is `execution.{setting}` in Halflap's configuration [{_CODES[outcome]}].")
    if ending.hint:
        parts.append(f"Hint: {ending.hint}")
    parts.append(doubts)
    text = "\n".join(filter(None, parts)) or "The program failed without a message."
    half = _MAX_ERROR // 2
    return text if len(text) <= _MAX_ERROR else f"{text[:half]}\n…\n{text[-half:]}"


def calls_made(calls: Sequence[CallMade]) -> list[str]:
    """List the calls that were made: their effects stay, whatever happened to the program."""
    if not calls:
        return ["Calls made before that: none."]
    lines = [_line(number, call) for number, call in enumerate(calls, 1)]
    if len(lines) > _MAX_CALLS:
        half = _MAX_CALLS // 2
        lines[half:-half] = [f"… {len(lines) - _MAX_CALLS:,} more …"]
    return ["Calls made before that:", *lines]


def _line(number: int, call: CallMade) -> str:
    """Return a call on one line; its name and detail may be any text."""
    detail = f": {visible(call.detail, _MAX_DETAIL)}" if call.detail else ""
    return f"{number}. {visible(call.name, _MAX_NAME)} — {call.outcome}, {call.duration_ms:.0f} ms{detail}"
