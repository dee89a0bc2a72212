"""`halflap programs`: list, run, export and optimise saved DSPy programs."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from halflap.cli.command import Invocation, command, group
from halflap.cli.options import (
    ArgumentsOption,
    JsonArgumentsOption,
    YesOption,
    confirmed,
    given_arguments,
    program_names,
)
from halflap.cli.output import note, one_line, outline, plural, print_json, progress, stdout_kept, working
from halflap.core.errors import UsageError
from halflap.core.values import DSPY, Tool
from halflap.dspy.key import redacted
from halflap.dspy.library import Library
from halflap.dspy.optimize import optimize as optimize_program
from halflap.dspy.optimize import read_examples
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.config import Config
    from halflap.dspy.library import SavedProgram
    from halflap.dspy.optimize import Progress
    from halflap.dspy.source import LoadedProgram

__all__ = ["programs"]

programs = group("programs", "List, show, run, export and optimise saved DSPy programs.")
_SHARED = ("config", "json")
_MAX_REASON = 1_000
NameArgument = Annotated[
    str,
    Argument(
        help="The program's name.",
        autocompletion=program_names,
        callback=lambda name: name.removeprefix(f"{DSPY}__"),
    ),
]
PromoteOption = Annotated[
    bool, Option("--promote", help="Make it the active version, unless it scores lower.")
]


async def _list(invocation: Invocation) -> None:
    """List the saved DSPy programs, and broken ones with the reason. DSPy need not be installed."""
    async with invocation.gateway() as gateway:
        found, broken = await (await gateway.dspy()).usable()
    data = {
        "programs": [one.summary() for one in found.values()],
        "total_count": len(found),
        "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
    }
    lines = [
        line
        for one in found.values()
        for line in (_heading(one), f"      {one_line(one.saved.manifest.description)}")
    ]
    for name, reason in broken.items():
        reasons = [one_line(one, _MAX_REASON) for one in reason.splitlines() if one.strip()]
        lines += [one_line(name), *(f"      [broken] {one}" for one in reasons)]
    if lines or invocation.as_json:
        invocation.show(data, lines)
    else:
        note("No DSPy programs are saved yet. Save one: halflap programs export MODULE:OBJECT NAME")


programs.callback(invoke_without_command=True)(command(shared=_SHARED, default=True)(_list))
programs.command(name="list")(command(shared=_SHARED)(_list))


def _heading(program: LoadedProgram) -> str:
    manifest = program.saved.manifest
    score = "" if manifest.validation_score is None else f", validation score {manifest.validation_score:g}"
    counts = f"{plural(len(manifest.predictors), 'predictor')}, optimizer {manifest.optimizer}{score}"
    return one_line(f"{manifest.name} {manifest.version}  {counts}")


@programs.command()
@command(shared=_SHARED)
async def info(invocation: Invocation, name: NameArgument) -> None:
    """Show a DSPy program: inputs and outputs, predictors, versions and origin."""
    async with invocation.gateway() as gateway:
        loaded = await (await gateway.dspy()).find(name)
    made, data = loaded.saved.manifest, loaded.info()
    tool = Tool(f"{DSPY}__{made.name}", DSPY, made.name, "", made.input_schema, made.output_schema)
    called = {one.name: list(one.tools) for one in made.predictors if one.tools}
    invocation.show(
        data, [parse_schema(tool).format_compact(), *outline({**data, "may call": called or None})]
    )


@programs.command()
@command()
async def run(
    invocation: Invocation,
    name: NameArgument,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    yes: YesOption = False,
) -> None:
    """Run a DSPy program with the model of `programs.lm`, and print its outputs as JSON.

    With --json, they include the times of the run.
    """
    async with invocation.gateway() as gateway:
        schema = (await (await gateway.dspy()).find(name)).saved.manifest.input_schema
        given = given_arguments(arguments, json_arguments, schema)
        context = confirmed(await gateway.dspy_needing_confirmation(name), f"{DSPY}__{name}", yes=yes)
        with working(f"Running {one_line(name)}"):
            result = await gateway.execute_dspy(name, given, context)
    print_json(result.answer(name) if invocation.as_json else result.outcome.outputs)
    if not invocation.as_json:
        cached = "; all answers were cached" if result.outcome.cache_hit else ""
        note(f"It took {result.outcome.total_time_ms:,.0f} ms{cached}.")


@programs.command()
@command()
def export(
    invocation: Invocation,
    what: Annotated[
        str,
        Argument(
            metavar="MODULE:OBJECT", help="A dspy.Module in a Python module, found from this folder on."
        ),
    ],
    name: Annotated[str, Argument(help="Its name: lower-case letters, digits and _.")],
    version: Annotated[
        str, Option("--version", help="Its version; existing versions are never overwritten.")
    ] = "1.0.0",
    description: Annotated[
        str, Option("--description", help="What it does; by default what the module says.")
    ] = "",
    optimizer: Annotated[str, Option("--optimizer", help="What it was optimised by.")] = "none",
    score: Annotated[
        float | None,
        Option("--score", help="Its validation score, if you have measured it.", show_default=False),
    ] = None,
    wiring: Annotated[
        Path | None,
        Option(
            "--wiring",
            metavar="FILE",
            help="A JSON file with the manifest's `wiring`, if fields are not passed on by equal names.",
            show_default=False,
        ),
    ] = None,
    promoted: PromoteOption = False,
) -> None:
    """Save a live or compiled dspy.Module as a DSPy program, and check that its prompts are the same.

    This imports the module, so it runs your own code. Its steps must be attributes of the module.
    """
    if find_spec("dspy") is None:
        raise UsageError("Exporting needs DSPy: pip install 'halflap[dspy]'.")
    from halflap.dspy.child.modules import load_object
    from halflap.dspy.export import export as write

    config = invocation.config()
    library = Library(config.programs.root)
    given: dict[str, Any] = {
        "version": version,
        "optimizer": optimizer,
        "validation_score": score,
        "wiring": None if wiring is None else _read_wiring(wiring),
        "description": description,
    }

    async def save(module: Any) -> SavedProgram:
        async with invocation.gateway(config) as gateway:
            await gateway.settle()
            tools = gateway.snapshot.tools
            return await asyncio.to_thread(partial(write, module, name, library, tools=tools, **given))

    with _users_code(config), working(f"Exporting {one_line(what)}"):
        # Here and not in a thread: it is the user's own code, which may need to be in the first one.
        stored = asyncio.run(save(load_object(what, Path.cwd())))
        if promoted:
            stored = library.promote(name, version)
    invocation.report(_version_data(stored, library), f"Written: {stored.name} {version}, in {stored.folder}")


def _read_wiring(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read as JSON: {error}") from None


@contextmanager
def _users_code(config: Config) -> Iterator[None]:
    """Run the user's own code: its output goes to stderr, and errors don't reveal the model's key."""
    with stdout_kept():
        try:
            yield
        except UsageError as error:
            if type(error) is not UsageError:
                raise
            raise UsageError(redacted(str(error), config.programs.lm)) from None


@programs.command()
@command()
async def optimize(
    invocation: Invocation,
    name: NameArgument,
    train: Annotated[
        Path,
        Option("--train", metavar="FILE", help="Examples, one JSON object a line: inputs and right outputs."),
    ],
    metric: Annotated[
        str,
        Option(
            "--metric",
            help="How answers are scored: exact, exact:FIELD, or your own module:function.",
        ),
    ],
    optimizer: Annotated[
        Literal["BootstrapFewShot", "GEPA"],
        Option("--optimizer", help="BootstrapFewShot adds examples, GEPA rewrites the prompts."),
    ] = "BootstrapFewShot",
    held_out: Annotated[
        float, Option("--held-out", min=0.01, max=0.99, help="The share of examples to measure with.")
    ] = 0.3,
    budget: Annotated[
        int | None,
        Option("--budget", min=1, help="Maximum number of answers that GEPA may score.", show_default=False),
    ] = None,
    promoted: PromoteOption = False,
    yes: YesOption = False,
) -> None:
    """Optimise a DSPy program over examples, and save the result as a new version, with its score.

    Old and new are scored on held-out examples. Nothing is overwritten.
    """
    config = invocation.config()
    library = Library(config.programs.root)
    stored = library.read().find(name)
    examples = read_examples(train, stored.manifest)
    try:
        async with invocation.gateway(config) as gateway:
            running = await gateway.dspy()
            tools = await gateway.dspy_needing_confirmation(stored.name)
            context = gateway.under_rule(confirmed(tools, f"{DSPY}__{stored.name}", yes=yes))
            if running.code_of(f"{DSPY}__{stored.name}"):
                await gateway.settle()
            with progress("Optimising") as update:

                def on_progress(at: Progress) -> None:
                    if at.score is not None:
                        note(f"{at.phase.capitalize()}: scored {at.score:g} on {at.total} held-out examples")
                    elif update is not None:
                        update(at.done, at.total, at.phase.capitalize())

                found = await optimize_program(
                    stored,
                    library,
                    running.runner,
                    call=running.call_tool,
                    examples=examples,
                    metric=metric,
                    optimizer=optimizer,
                    seed=0,
                    held_out=held_out,
                    budget=budget,
                    context=context,
                    progress=on_progress,
                    show=note,
                )
    except asyncio.CancelledError:
        new = set(library.read().find(stored.name).versions) - set(stored.versions)
        note(f"Stopped; {f'{max(new)} was saved before' if new else 'nothing was saved'}.")
        raise
    version, promoted = found.saved.manifest.version, promoted and found.score >= found.old_score
    if promoted:
        library.promote(stored.name, version)
    scores = {
        "score": found.score,
        "old_score": found.old_score,
        "trained_on": found.trained_on,
        "measured_on": found.measured_on,
    }
    active = "active" if promoted else f"activate it: halflap programs promote {stored.name} {version}"
    invocation.report(
        {**_version_data(found.saved, library), **scores, "promoted": promoted},
        "\n".join([f"Saved: {stored.name} {version}, {active}", *outline(scores)]),
    )


@programs.command()
@command(shared=_SHARED)
def promote(
    invocation: Invocation,
    name: NameArgument,
    version: Annotated[str, Argument(help="The version; `halflap programs info` lists them.")],
) -> None:
    """Activate a version of a DSPy program; the old one is kept."""
    library = Library(invocation.config().programs.root)
    stored = library.promote(name, version)
    invocation.report(_version_data(stored, library), f"Active: {stored.name} {stored.manifest.version}")


def _version_data(stored: SavedProgram, library: Library) -> dict[str, Any]:
    return {
        "name": stored.name,
        "version": stored.manifest.version,
        "source_hash": stored.source_hash,
        "validation_score": stored.manifest.validation_score,
        "folder": str(stored.folder),
        "versions": list(library.read().find(stored.name).versions),
    }
