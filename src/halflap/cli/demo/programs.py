"""The steps with programs: a wrong one refused, a right one run, and a guess before and after it can be told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from halflap.cli.demo import story
from halflap.cli.demo.drawing import code, printed
from halflap.cli.demo.step import Step, expect
from halflap.cli.output import one_line
from halflap.core.values import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from halflap.gateway import Gateway
    from halflap.sandbox import Checked, Execution

__all__ = ["Guessed", "Made", "Ran", "Refused", "recorded"]

_LONGEST = 200


@dataclass(frozen=True)
class Made:
    """A call that a program made, as it is on record."""

    server: str
    tool: str
    text: str
    """What a client would have put before the model: the text of its result."""

    @property
    def name(self) -> str:
        """The name that programs call it by."""
        return f"mcp__{self.server}__{self.tool}"

    @property
    def value(self) -> Any:
        """The result as data."""
        return json.loads(self.text)


async def recorded(gateway: Gateway, run: str) -> list[Made]:
    """Give the calls of a run from the record, in the order in which they began."""
    _, calls = await gateway.run(run)
    return [
        Made(one.server, one.tool, Result.from_wire(json.loads(one.result)).text if one.result else "")
        for one in calls
    ]


@dataclass(frozen=True)
class Refused(Step):
    """What came of the wrong program."""

    scene = story.REFUSE
    checked: Checked
    execution: Execution
    calls: int
    """So many calls are on record."""

    @classmethod
    async def take(cls, gateway: Gateway) -> Refused:
        """Have it run, which must not happen."""
        checked = await gateway.check(story.WRONG)
        execution = await gateway.execute(story.WRONG)
        return cls(checked, execution, len(await gateway.recent_calls()))

    def check(self) -> None:
        found = {one.line: one.rule for one in self.checked.mistakes}
        skipped = f"no check: {self.checked.skipped}"
        expect(found == story.MISTAKES, f"{_told(story.MISTAKES)}", _told(found) or skipped)
        guesses = [str(one) for one in self.checked.doubts if one.line == story.GUESS_LINE]
        expect(
            not guesses, f"nothing to be known of the guess in line {story.GUESS_LINE}", "; ".join(guesses)
        )
        expect(
            self.execution.outcome == "mistaken",
            "the program to be refused",
            f"it is {self.execution.outcome}",
        )
        expect(self.calls == 0, "no tool to be called", f"{self.calls} calls on record")

    def draw(self) -> Iterator[RenderableType]:
        yield code(story.WRONG, marked=frozenset(story.MISTAKES))
        yield Text("")
        guess = Text.assemble(
            (f"? line {story.GUESS_LINE} ", "bold yellow"),
            f'hits[0]["{story.GUESSED_KEY}"] is a guess, and with nothing known it may be right.',
        )
        told = [(story.GUESS_LINE, guess)]
        for one in self.checked.mistakes:
            text = Text.assemble((f"✗ line {one.line} ", "bold red"), one_line(one.wrong, _LONGEST))
            if one.right:
                text.append(f"\n  {one_line(one.right, _LONGEST)}", "green")
            told.append((one.line, text))
        yield from (text for _, text in sorted(told, key=lambda one: one[0]))
        yield Text("The program was not run; no tool was called.", "bold")

    def to_json(self) -> dict[str, Any]:
        return {
            "program": story.WRONG,
            "mistakes": [
                {"line": one.line, "rule": one.rule, "wrong": one.wrong, "right": one.right}
                for one in self.checked.mistakes
            ],
            "outcome": self.execution.outcome,
            "calls": self.calls,
        }


def _told(found: dict[int, str]) -> str:
    return ", ".join(f"{rule} in line {line}" for line, rule in sorted(found.items()))


@dataclass(frozen=True)
class Ran(Step):
    """What came of the right program."""

    scene = story.RUN
    execution: Execution
    calls: Sequence[Made]

    @classmethod
    async def take(cls, gateway: Gateway) -> Ran:
        """Run it, and read back what it called."""
        execution = await gateway.execute(story.RIGHT)
        return cls(execution, await recorded(gateway, execution.run))

    def check(self) -> None:
        expect(self.execution.ok, "the program to run to its end", self.execution.text)
        servers = sorted({one.server for one in self.calls})
        expect(len(servers) > 1, "calls on two servers", ", ".join(servers) or "none")
        lines = self.execution.output.splitlines()
        wanted = self._lines()
        expect(bool(wanted), "customers with orders", "none are on record")
        expect(
            lines[: len(wanted)] == wanted,
            "what was printed to be what the recorded results say",
            "\n".join(lines),
        )

    def _lines(self) -> list[str]:
        """Work out from the record what the program must have printed of the customers."""
        (top,) = [one.value for one in self.calls if one.name == story.TOP_CUSTOMERS] or [{"customers": []}]
        pages = [one.value["orders"] for one in self.calls if one.name == story.ORDER_HISTORY]
        lines = []
        for one in top["customers"]:
            orders = [order for page in pages for order in page if order["customer_id"] == one["customer_id"]]
            cents = [order["total_cents"] for order in orders if order["status"] == "cancelled"]
            lines.append(
                f"{one['name']}: {len(cents)} of {len(orders)} orders cancelled, ${sum(cents) / 100:,.0f}"
            )
        return lines

    def draw(self) -> Iterator[RenderableType]:
        yield code(story.RIGHT)
        yield Text("")
        yield printed(self.execution.output)
        yield Text(
            f"{len(self.calls)} calls in {self.execution.duration_ms:.0f} ms, in the sandbox "
            f"“{self.execution.sandbox}”, every one on record; halflap runs shows yours.",
            "dim",
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "program": story.RIGHT,
            "output": self.execution.output,
            "calls": [one.name for one in self.calls],
            "milliseconds": self.execution.duration_ms,
            "sandbox": self.execution.sandbox,
        }


@dataclass(frozen=True)
class Guessed(Step):
    """What came of the guess, once it could be told."""

    scene = story.GUESS_AGAIN
    checked: Checked
    execution: Execution

    @classmethod
    async def take(cls, gateway: Gateway) -> Guessed:
        """Check it, and have it run: a doubt stops nothing."""
        return cls(await gateway.check(story.GUESSED), await gateway.execute(story.GUESSED))

    @property
    def doubts(self) -> list[str]:
        """What the check says of the key."""
        return [one.wrong for one in self.checked.doubts if one.rule == "unknown-key"]

    @property
    def hints(self) -> list[str]:
        """What the failed run says of it."""
        return [line for line in self.execution.text.splitlines() if line.startswith("Hint: ")]

    def check(self) -> None:
        for said, where in ((self.doubts, "the check"), (self.hints, "the failed run")):
            named = [one for one in said if repr(story.GUESSED_KEY) in one and story.RIGHT_KEY in one]
            expect(
                bool(named),
                f"{where} to doubt {story.GUESSED_KEY!r} and to name {story.RIGHT_KEY!r}",
                "; ".join(said) or self.checked.skipped or self.execution.text,
            )
        expect(not self.execution.ok, "the program to fail by its guess", "it ran to its end")

    def draw(self) -> Iterator[RenderableType]:
        yield code(story.GUESSED, marked=frozenset(one.line for one in self.checked.doubts))
        yield Text("")
        for one in self.checked.doubts:
            yield Text.assemble((f"! line {one.line} ", "bold yellow"), one_line(one.wrong, _LONGEST))
        yield Text("Run all the same, it fails, and the model is told what to write instead:")
        yield printed("\n".join(self.hints))

    def to_json(self) -> dict[str, Any]:
        return {
            "program": story.GUESSED,
            "doubts": self.doubts,
            "outcome": self.execution.outcome,
            "hints": self.hints,
        }
