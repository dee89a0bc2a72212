"""`halflap programs export`, `optimize` and `promote`: add programs and versions to the library."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    confirmed,
    opened,
    program_names,
    read_config,
)
from halflap.cli.output import note, one_line, print_json, reported, stdout_kept
from halflap.cli.progress import counting, working
from halflap.core.errors import UsageError
from halflap.core.values import DSPY
from halflap.dspy.key import redacted
from halflap.gateway import FIRST_LISTING_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.config import Config
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.optimize import Optimised, Progress

__all__ = ["export", "optimize", "promote"]


@reported
def export(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:OBJECT", help="A dspy.Module in a Python module, found from this folder on."
        ),
    ],
    name: Annotated[str, typer.Argument(help="Its name: lower-case letters, digits and _.")],
    version: Annotated[
        str, typer.Option("--version", help="Its version; existing versions are never overwritten.")
    ] = "1.0.0",
    description: Annotated[
        str | None,
        typer.Option(
            "--description", help="What it does; by default what the module says.", show_default=False
        ),
    ] = None,
    optimizer: Annotated[str, typer.Option("--optimizer", help="What it was optimised by.")] = "none",
    score: Annotated[
        float | None,
        typer.Option("--score", help="Its validation score, if you have measured it.", show_default=False),
    ] = None,
    wiring: Annotated[
        Path | None,
        typer.Option(
            "--wiring",
            metavar="FILE",
            help="A JSON file with the manifest's `wiring`, if fields are not passed on by equal names.",
            show_default=False,
        ),
    ] = None,
    into_force: Annotated[
        bool, typer.Option("--promote", help="Make it the active version if the program exists already.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Save a live or compiled dspy.Module as a DSPy program, and check that it asks the model the same.

    This imports the module, so it runs your own code. Its steps have to be attributes of the module.
    """
    if find_spec("dspy") is None:
        raise UsageError("Exporting needs DSPy: pip install 'halflap[dspy]'.")
    from halflap.dspy.child.metrics import load_object
    from halflap.dspy.library import Library

    read = read_config(config)
    library = Library(read.programs.root)
    said: dict[str, Any] = {"version": version, "optimizer": optimizer, "validation_score": score}
    said["wiring"] = None if wiring is None else _read_wiring(wiring)
    with _code_of_theirs(read):
        with working(f"Loading {one_line(what)}"):
            # Here and not in a thread: it is the user's own code, which may need to be in the first one.
            module = load_object(what)
        work = _export(
            read, library, module, name, into_force=into_force, **said, description=description or ""
        )
        stored = asyncio.run(work)
    if as_json:
        print_json(_told(stored, library))
    else:
        note(f"Written: {stored.name} {stored.manifest.version}, in {stored.folder}")


async def _export(
    config: Config, library: Library, module: Any, name: str, *, into_force: bool, **said: Any
) -> Stored:
    from halflap.dspy.export import export as write

    async with opened(config) as gateway:
        with working(f"Writing {one_line(name)}"):
            await gateway.settle(wait_seconds=FIRST_LISTING_SECONDS, behind=False)
            tools = gateway.snapshot.tools
            stored: Stored = await asyncio.to_thread(
                partial(write, module, name, library, tools=tools, **said)
            )
            if into_force:
                stored = await asyncio.to_thread(library.promote, name, stored.manifest.version)
            return stored


def _read_wiring(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as JSON: {error}") from None


@reported
def optimize(
    name: Annotated[str, typer.Argument(help="The program's name.", autocompletion=program_names)],
    train: Annotated[
        Path,
        typer.Option(
            "--train", metavar="FILE", help="Examples, one JSON object a line: inputs and right outputs."
        ),
    ],
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="How answers are scored: exact, exact:FIELD, contains:FIELD, or your own module:function.",
        ),
    ],
    optimizer: Annotated[
        str,
        typer.Option("--optimizer", help="BootstrapFewShot, which adds examples, or GEPA, which rewrites."),
    ] = "BootstrapFewShot",
    held_out: Annotated[
        float, typer.Option("--held-out", min=0.01, max=0.99, help="The share of examples to measure with.")
    ] = 0.3,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for choosing them.")] = 0,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", min=1, help="Maximum number of answers that GEPA may score.", show_default=False
        ),
    ] = None,
    into_force: Annotated[
        bool, typer.Option("--promote", help="Activate it, unless it scores lower than the old one.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Allow calls of destructive tools without asking.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Optimise a DSPy program over examples, and save the result as a new version, with its score.

    Old and new are scored on held-out examples. Nothing is overwritten.
    """
    from halflap.dspy.library import Library
    from halflap.dspy.optimize import OPTIMIZERS, read_examples

    if optimizer not in OPTIMIZERS:
        raise UsageError(f"There is no optimizer {optimizer!r}. Choose from {', '.join(OPTIMIZERS)}.")
    read = read_config(config)
    library = Library(read.programs.root)
    stored = library.read().find(name.removeprefix(f"{DSPY}__"))
    try:
        settings = {
            "examples": read_examples(train, stored.manifest),
            "metric": metric,
            "optimizer": optimizer,
            "seed": seed,
            "held_out": held_out,
            "budget": budget,
        }
        found = asyncio.run(_optimize(read, library, stored, yes=yes, **settings))
    except KeyboardInterrupt:
        new = set(library.read().find(stored.name).versions) - set(stored.versions)
        note(f"Stopped; {f'{max(new)} was saved before' if new else 'nothing was saved'}.")
        raise typer.Exit(130) from None
    version, is_better = found.stored.manifest.version, found.score >= found.old_score
    promoted = into_force and is_better
    if promoted:
        library.promote(stored.name, version)
    if as_json:
        print_json(
            {
                **_told(found.stored, library),
                "score": found.score,
                "old_score": found.old_score,
                "trained_on": found.trained_on,
                "measured_on": found.measured_on,
                "promoted": promoted,
            }
        )
        return
    note(
        f"Saved: {stored.name} {version}. It scored {found.score:g}, and {stored.manifest.version} {found.old_score:g}, "
        f"on {found.measured_on} of the examples; it was optimised with the other {found.trained_on}."
    )
    if promoted:
        note("It is active now.")
    else:
        why = "It scored lower, so it" if into_force else "It"
        note(f"{why} is not active. Activate it: halflap programs promote {stored.name} {version}")


async def _optimize(
    config: Config, library: Library, stored: Stored, *, yes: bool, **settings: Any
) -> Optimised:
    from halflap.dspy.optimize import optimize as work

    async with opened(config) as gateway:
        programs = await gateway.dspy()
        tools = await gateway.dspy_needing_confirmation(stored.name)
        context = gateway.under_rule(confirmed(tools, f"{DSPY}__{stored.name}", yes=yes))
        if programs.code_of(f"{DSPY}__{stored.name}"):
            await gateway.settle(wait_seconds=FIRST_LISTING_SECONDS, behind=False)
        with counting() as told:

            def progress(at: Progress) -> None:
                what = f"{at.phase[0].upper()}{at.phase[1:]}"
                if at.score is not None:
                    note(f"{what}: it scored {at.score:g} on {at.total} held-out examples")
                    return
                if at.round is not None:
                    what = f"{what} by {settings['optimizer']}, round {at.round}{f' of {at.rounds}' if at.rounds else ''}"
                told(what, at.done, at.total, "answers scored" if at.round and not at.rounds else "examples")

            found: Optimised = await work(
                stored, library, programs.runtime, context=context, progress=progress, show=note, **settings
            )
            return found


@contextmanager
def _code_of_theirs(config: Config) -> Iterator[None]:
    """Run the user's own code: its output goes to stderr, and errors don't reveal the model's key."""
    with stdout_kept():
        try:
            yield
        except UsageError as error:
            if type(error) is not UsageError:
                raise
            raise UsageError(redacted(str(error), config.programs.lm)) from None


@reported
def promote(
    name: Annotated[str, typer.Argument(help="The program's name.", autocompletion=program_names)],
    version: Annotated[str, typer.Argument(help="The version; `halflap programs info` lists them.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Activate a version of a DSPy program; the old one is kept."""
    from halflap.dspy.library import Library

    library = Library(read_config(config).programs.root)
    stored = library.promote(name.removeprefix(f"{DSPY}__"), version)
    if as_json:
        print_json(_told(stored, library))
    else:
        note(f"Active: {stored.name} {stored.manifest.version}")


def _told(stored: Stored, library: Library) -> dict[str, Any]:
    return {
        "name": stored.name,
        "version": stored.manifest.version,
        "source_hash": stored.source_hash,
        "validation_score": stored.manifest.validation_score,
        "folder": str(stored.folder),
        "versions": list(library.read().find(stored.name).versions),
    }
