"""Where the demo is shown: headlines, steps that hold or end it, a pause between them, and a picture of it all."""

from __future__ import annotations

import asyncio
import io
import os
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from halflap.cli.demo import story
from halflap.cli.demo.step import DemoError, Step, UnmetError
from halflap.cli.output import harmless
from halflap.cli.progress import working
from halflap.core.errors import HalflapError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rich.console import RenderableType

__all__ = ["Stage"]

_S = TypeVar("_S", bound=Step)
_WIDEST = 100
"""Lines that are longer than this are hard to read."""
_AMISS = (
    "With the package as it was released this should not happen: install it anew, or report it with these lines. "
    "The demo's own store is deleted; nothing of yours was touched."
)


class Stage:
    """Shows steps one after the other; one that does not hold ends it."""

    def __init__(self, *, quiet: bool = False, pauses: bool = False, records: bool = False) -> None:
        self.told: dict[str, Any] = {}
        """What was shown, as data."""
        self.steps: list[Step] = []
        width = min(Console().width, _WIDEST)
        self._console = Console(
            highlight=False, markup=False, emoji=False, width=width, quiet=quiet, soft_wrap=False
        )
        self._recorder = _recorder() if records else None
        self._pauses = pauses

    def open(self) -> None:
        """Say what it is about."""
        self._print(Text("Halflap: one MCP server in front of all your others", "bold"))
        self._print(Text(story.OPENING))

    async def show(self, kind: type[_S], take: Callable[[], Awaitable[_S]]) -> _S:
        """Take a step, and show it if it holds."""
        scene = kind.scene
        number = story.SCENES.index(scene) + 1
        if self._pauses and number > 1:
            await self._wait()
        self._print(Text(""))
        self._print(Text(f"{number} ▸ {scene.title}", "bold cyan"))
        self._print(Text(f"{scene.why}\n", "italic"))
        try:
            with working(scene.doing):
                step = await take()
            step.check()
            drawn = list(step.draw())
            told = step.to_json()
        except UnmetError as error:
            raise self._failed(number, f"Expected: {error.expected}\nCame: {error.came}") from None
        except HalflapError as error:
            raise self._failed(number, str(error)) from None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            # What a server answered has not the form that it must have.
            came = f"{type(error).__name__}: {error}"
            raise self._failed(
                number, f"Expected: results of the form that they always have\nCame: {came}"
            ) from error
        for one in drawn:
            self._print(Padding(one, (0, 0, 0, 2)))
        self.told[scene.name] = told
        self.steps.append(step)
        return step

    def close(self, seconds: float) -> None:
        """Say what to do next."""
        self._print(Text(""))
        self._print(
            Text(f"All {len(story.SCENES)} steps held, in {seconds:.1f} s. What to do next", "bold green")
        )
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(style="bold cyan", no_wrap=self._console.width >= _WIDEST, overflow="fold")
        table.add_column(overflow="fold")
        for command, what in story.NEXT:
            table.add_row(command, what)
        self._print(Padding(table, (0, 0, 0, 2)))
        if self._recorder is None:
            self._print(Text("halflap demo --save DIR writes the pictures, the program and the data.", "dim"))

    def picture(self) -> str:
        """Give all that was shown as SVG, which loads nothing from elsewhere."""
        assert self._recorder is not None
        drawn = self._recorder.export_svg(title="halflap demo", unique_id="demo")
        # Not every viewer keeps blanks at the ends of a text without being told.
        kept = drawn.replace("<svg ", '<svg xml:space="preserve" ', 1)
        return re.sub(r"\s*@font-face \{.*?\}", "", kept, flags=re.DOTALL)

    def _failed(self, number: int, what: str) -> DemoError:
        title = story.SCENES[number - 1].title
        return DemoError(
            f"The demo failed at step {number} of {len(story.SCENES)}, “{title}”.\n{what}\n{_AMISS}"
        )

    def _print(self, what: RenderableType) -> None:
        if self._recorder is not None:
            self._recorder.print(what)
        if self._console.is_terminal or self._console.quiet:
            self._console.print(what)
            return
        # For a file or another program: no blanks at the ends of lines.
        with self._console.capture() as capture:
            self._console.print(what)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in harmless(capture.get()).splitlines()))
        sys.stdout.flush()

    async def _wait(self) -> None:
        """Wait for Enter, in a way that Ctrl-C ends at once; at the end of the input there is nobody to wait for."""
        self._console.print(Text("Enter goes on, Ctrl-C ends.", "dim"), end="")
        loop = asyncio.get_running_loop()
        typed = asyncio.Event()
        loop.add_reader(sys.stdin.fileno(), typed.set)
        try:
            await typed.wait()
        finally:
            loop.remove_reader(sys.stdin.fileno())
        if not os.read(sys.stdin.fileno(), 4096):
            self._pauses = False
            self._console.print()


def _recorder() -> Console:
    return Console(
        file=io.StringIO(),
        record=True,
        width=_WIDEST,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        emoji=False,
    )
