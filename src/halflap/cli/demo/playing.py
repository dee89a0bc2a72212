"""The steps in their order, and what is saved of them."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from halflap.cli.demo.built import Built
from halflap.cli.demo.composed import Counted, Feeds, Learned, Suggested
from halflap.cli.demo.known import Connected, Inspected, Searched
from halflap.cli.demo.programs import Guessed, Ran, Refused
from halflap.cli.output import note
from halflap.core.errors import UsageError
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halflap.cli.demo.stage import Stage
    from halflap.config import Config

__all__ = ["FILES", "play", "prepare", "write"]

FILES = ("demo.svg", "feeds.svg", "workflow.mmd", "workflow.py", "demo.json")
"""What is saved: all that was shown, what feeds what, the suggested workflow as Mermaid and as a program, the data."""


async def play(config: Config, stage: Stage) -> None:
    """Show all steps, each of which goes on from what those before it found."""
    began = perf_counter()
    stage.open()
    async with Gateway.open(config) as gateway:
        await stage.show(Connected, partial(Connected.take, gateway))
        await stage.show(Searched, partial(Searched.take, gateway))
        inspected = await stage.show(Inspected, partial(Inspected.take, gateway))
        await stage.show(Refused, partial(Refused.take, gateway))
        ran = await stage.show(Ran, partial(Ran.take, gateway))
        await stage.show(Learned, partial(Learned.take, gateway, ran))
        await stage.show(Guessed, partial(Guessed.take, gateway))
        feeds = await stage.show(Feeds, partial(Feeds.take, gateway, inspected))
        suggested = await stage.show(Suggested, partial(Suggested.take, gateway, feeds))
        await stage.show(Built, partial(Built.take, gateway))
        await stage.show(Counted, partial(Counted.take, gateway, ran, suggested))
    stage.close(perf_counter() - began)


def prepare(folder: Path) -> None:
    """See now whether the folder can be written to, not after the demo; and that nothing of the person's is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        there = [name for name in FILES if (folder / name).exists()]
    except OSError as error:
        raise UsageError(
            f"--save {folder} cannot be written to: {error.strerror}. Name a folder of yours."
        ) from None
    if there and list(FILES) != there:
        # All of them are there if an earlier demo wrote them.
        raise UsageError(
            f"--save {folder} would overwrite {', '.join(there)}, which is not the demo's. Name another folder."
        )


def write(folder: Path, stage: Stage) -> None:
    """Write what was shown into a folder: pictures, the program, and the data."""
    from halflap.graph.svg import edges_svg  # noqa: PLC0415 -- only for a file

    (feeds,) = [step for step in stage.steps if isinstance(step, Feeds)]
    (suggested,) = [step for step in stage.steps if isinstance(step, Suggested)]
    edges = feeds.edges
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    suggestion: Mapping[str, str] = suggested.suggestion or {}
    texts = (
        stage.picture(),
        edges_svg(edges, {name: feeds.tools[name] for name in ends}),
        suggestion["mermaid"],
        suggestion["program"],
        json.dumps(stage.told, indent=2, ensure_ascii=False),
    )
    for name, text in zip(FILES, texts, strict=True):
        try:
            (folder / name).write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{folder / name} cannot be written: {error.strerror}.") from None
    note(f"Written to {folder}: {', '.join(FILES)}.")
