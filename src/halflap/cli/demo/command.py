"""The command: a store of its own that is thrown away."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from halflap.cli.output import JsonOption, print_json, reported, set_up_logging
from halflap.core.errors import UsageError

__all__ = ["demo"]


@reported
def demo(
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="DIR",
            help="Write the pictures, the suggested program and all data into this folder.",
            show_default=False,
        ),
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Wait for Enter after each step.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the whole loop on bundled servers, in a store of its own that is thrown away.

    Every step asserts what it shows; the exit code is 1 if one does not hold.
    """
    set_up_logging(verbose=False, tells_of_servers=True)
    if pause and as_json:
        raise UsageError("--pause and --json exclude each other: data is not stepped through.")
    if pause and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--pause waits for a key, and there is no terminal. Leave it out.")
    # Much is loaded with these, which other commands and the help do not need.
    from halflap.cli.demo.playing import play, prepare, write  # noqa: PLC0415
    from halflap.cli.demo.stage import Stage  # noqa: PLC0415
    from halflap.config import Config  # noqa: PLC0415
    from halflap.demo import demo_config  # noqa: PLC0415

    if save is not None:
        prepare(save)
    stage = Stage(quiet=as_json, pauses=pause, records=save is not None)
    with tempfile.TemporaryDirectory(prefix="halflap-demo-") as folder:
        config = replace(Config.from_mapping(demo_config()), data_dir=Path(folder))
        asyncio.run(play(config, stage))
    if save is not None:
        write(save, stage)
    if as_json:
        print_json(stage.told)
