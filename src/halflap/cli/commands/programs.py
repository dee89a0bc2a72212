"""`halflap programs`: list, run, export and optimise saved DSPy programs."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
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
)
from halflap.cli.output import note, one_line, outline, print_json, working
from halflap.core.environment import install_command
from halflap.core.errors import UsageError
from halflap.core.text import plural
from halflap.core.values import DSPY, Tool
from halflap.dspy.key import redacted
from halflap.dspy.library import Library, SavedProgram
from halflap.dspy.optimize import Progress, read_examples
from halflap.dspy.optimize import optimize as optimize_program
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from halflap.dspy.programs import LoadedProgram

programs = group("programs", "List, show, run, export and optimise saved DSPy programs.")
_SHARED = ("config", "json")
_MAX_REASON = 1_000
NameArgument = Annotated[
    str, Argument(help="The program's name.", callback=lambda name: name.removeprefix(f"{DSPY}__"))
]
ReplaceOption = Annotated[bool, Option("--replace", help="Replace an existing program of that name.")]


async def _list(invocation: Invocation) -> None:
    """List the saved DSPy programs, and broken ones with the reason. DSPy need not be installed."""
    async with invocation.gateway() as gateway:
        found, broken = await gateway.parts.dspy.usable()
    data = {
        "programs": [one.summary() for one in found.values()],
        "total_count": len(found),
        "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
    }
    lines = [
        line
        for one in found.values()
        for line in (_heading(one), f"      {one_line(one.saved.spec.description)}")
    ]
    for name, reason in broken.items():
        reasons = (one_line(one, _MAX_REASON) for one in reason.splitlines() if one.strip())
        lines += [one_line(name), *(f"      [broken] {one}" for one in reasons)]
    if lines or invocation.as_json:
        invocation.show(data, lines)
    else:
        note("No DSPy programs are saved yet. Save one: halflap programs export MODULE:OBJECT NAME")


programs.callback(invoke_without_command=True)(command(shared=_SHARED, default=True)(_list))
programs.command(name="list")(command(shared=_SHARED)(_list))


def _heading(program: LoadedProgram) -> str:
    spec = program.saved.spec
    score = "" if spec.validation_score is None else f", validation score {spec.validation_score:g}"
    counts = f"{plural(len(spec.predictors), 'predictor')}, optimizer {spec.optimizer}{score}"
    return one_line(f"{spec.name} {spec.version}  {counts}")


@programs.command()
@command(shared=_SHARED)
async def info(invocation: Invocation, name: NameArgument) -> None:
    """Show a DSPy program: inputs and outputs, predictors and origin."""
    async with invocation.gateway() as gateway:
        loaded = await gateway.parts.dspy.find(name)
    made, data = loaded.saved.spec, loaded.info()
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
    """Run a DSPy program, and print its outputs as JSON.

    It uses the model of `programs.lm`. With --json, they include the times of the run.
    """
    async with invocation.gateway() as gateway:
        schema = (await gateway.parts.dspy.find(name)).saved.spec.input_schema
        given = given_arguments(arguments, json_arguments, schema)
        context = confirmed(
            await gateway.parts.executor.dspy_needing_confirmation(name), f"{DSPY}__{name}", yes=yes
        )
        with working(f"Running {one_line(name)}"):
            result = await gateway.parts.executor.execute_dspy(name, given, context)
    if not invocation.as_json:
        metadata = result.pop("_metadata")
        cached = "; all answers were cached" if metadata["cache_hit"] else ""
        note(f"It took {metadata['total_time_ms']:,.0f} ms{cached}.")
    print_json(result)


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
    version: Annotated[str, Option("--version", help="Its version.")] = "1.0.0",
    wiring: Annotated[
        Path | None,
        Option(
            "--wiring", metavar="FILE", help="A JSON file that says which field feeds which, if not by name."
        ),
    ] = None,
    replace: ReplaceOption = False,
) -> None:
    """Save a dspy.Module as a DSPy program.

    Checks that the prompts are the same. This imports the module, so it runs your own code. Its steps must be
    attributes of the module.
    """
    if find_spec("dspy") is None:
        raise UsageError(f"Exporting needs DSPy: {install_command('dspy')}")
    from halflap.dspy.child.modules import load_object
    from halflap.dspy.export import describe

    config = invocation.config()
    library = Library(config.programs.root)
    library.check_new(name, replace=replace)
    wires = None if wiring is None else _read_wiring(wiring)

    async def listed() -> dict[str, Tool]:
        async with invocation.gateway(config) as gateway:
            await gateway.settle()
            return dict(gateway.snapshot.tools)

    # The module's own output goes to stderr.
    with redirect_stdout(sys.stderr), working(f"Exporting {one_line(what)}"):
        try:
            module = load_object(what, Path.cwd())
            made = describe(module, name, tools=asyncio.run(listed()), wiring=wires, version=version)
        except UsageError as error:
            # The user's own code may say anything, also the model's key.
            raise UsageError(redacted(str(error), config.programs.lm)) from None
        stored = library.save(made, replace=replace)
    invocation.report(_saved_data(stored), f"Written: {stored.name} {version}, in {stored.path}")


def _read_wiring(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read as JSON: {error}") from None


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
        Option("--metric", help="How answers are scored: exact, exact:FIELD, or your own module:function."),
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
    save_as: Annotated[
        str | None,
        Option("--save-as", metavar="NAME", help="Name of the result; by default NAME_optimized."),
    ] = None,
    replace: ReplaceOption = False,
    yes: YesOption = False,
) -> None:
    """Optimise a DSPy program over examples.

    The result is saved with its score. Old and new are scored on held-out examples. Nothing is saved if the new one
    scores lower.
    """
    config = invocation.config()
    library = Library(config.programs.root)
    stored = library.read().find(name)
    new_name = save_as or f"{stored.name}_optimized"
    examples = read_examples(train, stored.spec)
    try:
        async with invocation.gateway(config) as gateway:
            running = gateway.parts.dspy
            tools = await gateway.parts.executor.dspy_needing_confirmation(stored.name)
            context = gateway.parts.executor.under_rule(confirmed(tools, f"{DSPY}__{stored.name}", yes=yes))
            if running.code_of(f"{DSPY}__{stored.name}"):
                await gateway.settle()
            with working("Optimising") as update:

                def on_progress(at: Progress) -> None:
                    if at.score is not None:
                        note(f"{at.phase.capitalize()}: scored {at.score:g} on {at.total} held-out examples")
                    else:
                        update(f"{at.phase.capitalize()}, {at.done} of {at.total}")

                found = await optimize_program(
                    stored,
                    library,
                    running.runner,
                    name=new_name,
                    replace=replace,
                    call=running.call_tool,
                    examples=examples,
                    metric=metric,
                    optimizer=optimizer,
                    held_out=held_out,
                    budget=budget,
                    context=context,
                    progress=on_progress,
                    show=note,
                )
    except asyncio.CancelledError:
        note("Stopped; nothing was saved.")
        raise
    scores = {key: value for key, value in asdict(found).items() if key != "saved"}
    data = {"name": None} if found.saved is None else _saved_data(found.saved)
    text = f"Saved: {new_name}, in {found.saved.path}" if found.saved else "Not saved: it scored lower."
    invocation.report({**data, **scores}, "\n".join([text, *outline(scores)]))


def _saved_data(stored: SavedProgram) -> dict[str, Any]:
    return {
        "name": stored.name,
        "version": stored.spec.version,
        "source_hash": stored.source_hash,
        "validation_score": stored.spec.validation_score,
        "path": str(stored.path),
    }
