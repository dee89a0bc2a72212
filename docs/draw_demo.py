"""Draw docs/demo.svg: what `halflap demo` prints on a terminal."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path

from rich.console import Console

from halflap.cli.demo import play


def main() -> None:
    console = Console(
        file=io.StringIO(), record=True, width=100, force_terminal=True, highlight=False, emoji=False
    )
    asyncio.run(play(console))
    drawn = console.export_svg(title="halflap demo", unique_id="demo")
    # Load no font from elsewhere, and keep blanks at the ends of texts.
    drawn = drawn.replace("<svg ", '<svg xml:space="preserve" ', 1)
    drawn = re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    Path(__file__).with_name("demo.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
