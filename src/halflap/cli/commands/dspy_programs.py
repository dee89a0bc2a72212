"""`halflap programs`: list, run, export and optimise saved DSPy programs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from halflap.cli.command import CONFIG_AND_JSON, Invocation, command, group
from halflap.cli.options import (
    ArgumentsOption,
    ForceOption,
    JsonArgumentsOption,
    NewNameArgument,
    YesOption,
    confirmed,
    given_arguments,
    read_input,
)
from halflap.cli.output import note, one_line, outline, print_json, working
from halflap.core.environment import install_command
from halflap.core.errors import UsageError
from halflap.core.text import plural
from halflap.core.values import DSPY, Tool
from halflap.dspy.library import Library
from halflap.dspy.optimize import optimize as optimize_program
from halflap.dspy.optimize import read_examples
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from halflap.dspy.library import SavedProgram

programs = group("programs", "List, show, run, export and optimise saved DSPy programs.", has_default=True)
_MAX_REASON = 1_000
NameArgument = Annotated[
    str, Argument(help="The program's name.", callback=lambda name: name.removeprefix(f"{DSPY}__"))
]


@command(programs, "list", shared=CONFIG_AND_JSON, is_default=True)
async def list_programs(invocation: Invocation) -> None:
    """List the saved DSPy programs.

    Broken ones are listed with the reason. DSPy need not be installed.
    """
    async with invocation.gateway() as gateway:
        found, broken = await gateway.parts.dspy.usable()
    data = {
        "programs": [one.summary() for one in found.values()],
        "total_count": len(found),
        "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
    }
    lines: list[str] = []
    for one in found.values():
        spec = one.spec
        score = "" if spec.validation_score is None else f", validation score {spec.validation_score:g}"
        counts = f"{plural(len(spec.predictors), 'predictor')}, optimizer {spec.optimizer}{score}"
        lines.append(one_line(f"{spec.name} {spec.version}  {counts}"))
        lines += [f"      {one_line(spec.description)}"] if spec.description else []
    for name, reason in broken.items():
        reasons = (one_line(one, _MAX_REASON) for one in reason.splitlines() if one.strip())
        lines += [one_line(name), *(f"      [broken] {one}" for one in reasons)]
    if lines or invocation.as_json:
        invocation.show(data, lines)
    else:
        note("No DSPy programs yet. Save one: halflap programs export MODULE:OBJECT NAME")


@command(programs, shared=CONFIG_AND_JSON)
async def info(invocation: Invocation, name: NameArgument) -> None:
    """Show a DSPy program: inputs, outputs, predictors and origin."""
    async with invocation.gateway() as gateway:
        program = await gateway.parts.dspy.find(name)
    spec, data = program.spec, program.info()
    tool = Tool(f"{DSPY}__{spec.name}", DSPY, spec.name, "", spec.input_schema, spec.output_schema)
    called = {one.name: list(one.tools) for one in spec.predictors if one.tools}
    signature = parse_schema(tool).format_compact()
    invocation.show(data, [signature, *outline({**data, "may call": called or None})])


@command(programs)
async def run(
    invocation: Invocation,
    name: NameArgument,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    yes: YesOption = False,
) -> None:
    """Run a DSPy program with the model of `programs.lm`.

    Prints the outputs as JSON. With --json, they include the times of the run.
    """
    async with invocation.gateway() as gateway:
        dspy, programs = gateway.parts.dspy, gateway.parts.programs
        schema = (await dspy.find(name)).spec.input_schema
        given = given_arguments(arguments, json_arguments, schema)
        tool = f"{DSPY}__{name}"
        context = confirmed(await programs.destructive_within(tool), tool, yes=yes)
        with working(f"Running {one_line(name)}"):
            result = await dspy.execute(name, given, context)
    if not invocation.as_json:
        metadata = result.pop("_metadata")
        cached = ", all answers from the cache" if metadata["cache_hit"] else ""
        note(f"Done in {metadata['total_time_ms']:,.0f} ms{cached}.")
    print_json(result)


@command(programs)
def export(
    invocation: Invocation,
    what: Annotated[
        str, Argument(metavar="MODULE:OBJECT", help="A dspy.Module, importable from this folder.")
    ],
    name: NewNameArgument,
    version: Annotated[str, Option(help="Its version.")] = "1.0.0",
    wiring: Annotated[
        Path | None, Option(metavar="FILE", help="JSON that says which field feeds which.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Save a dspy.Module as a DSPy program.

    Imports the module, which runs your code, and checks that the saved program makes the same prompts. The steps must
    be attributes of the module.
    """
    if find_spec("dspy") is None:
        raise UsageError(f"Exporting needs DSPy: {install_command('dspy')}")
    from halflap.dspy.child.modules import load_object
    from halflap.dspy.export import describe

    config = invocation.config()
    library = Library(config.programs.root)
    library.check_new(name, force=force)
    try:
        wires = None if wiring is None else json.loads(read_input(wiring))
    except ValueError as error:
        raise UsageError(f"{wiring} is not valid JSON: {error}.") from None

    async def listed() -> dict[str, Tool]:
        async with invocation.gateway(config) as gateway:
            await gateway.settle()
            return dict(gateway.snapshot.tools)

    # The module's own output goes to stderr.
    with redirect_stdout(sys.stderr), working(f"Exporting {one_line(what)}"):
        module = load_object(what, Path.cwd())
        made = describe(module, name, tools=asyncio.run(listed()), wiring=wires, version=version)
        data = _saved_data(library, library.save(made, force=force))
    invocation.report(data, f"Written: {name} {version}, in {data['path']}")


@command(programs)
async def optimize(
    invocation: Invocation,
    name: NameArgument,
    train: Annotated[Path, Option(metavar="FILE", help="JSON lines with inputs and expected outputs.")],
    metric: Annotated[str, Option(help="One of exact, exact:FIELD, module:function.")],
    optimizer: Annotated[
        Literal["BootstrapFewShot", "GEPA"],
        Option(help="BootstrapFewShot adds examples, GEPA rewrites the prompts."),
    ] = "BootstrapFewShot",
    budget: Annotated[int | None, Option(min=1, help="How many answers GEPA may score.")] = None,
    save_as: Annotated[str | None, Option(metavar="NEW_NAME", help="By default NAME_optimized.")] = None,
    force: ForceOption = False,
    yes: YesOption = False,
) -> None:
    """Optimise a DSPy program with examples.

    Three tenths of the examples are held out to score the old and the new program. The result is saved with its
    score, unless it scores lower.
    """
    config = invocation.config()
    library = Library(config.programs.root)
    program = library.find(name)
    new_name = save_as or f"{name}_optimized"
    examples = read_examples(train, program.spec)
    try:
        async with invocation.gateway(config) as gateway:
            dspy, programs = gateway.parts.dspy, gateway.parts.programs
            await dspy.reread()
            tool = f"{DSPY}__{name}"
            tools = await programs.destructive_within(tool)
            context = programs.under_rules(confirmed(tools, tool, yes=yes))
            if program.spec.tools:
                await gateway.settle()
            with working("Optimising") as update:

                def on_progress(at: Mapping[str, Any]) -> None:
                    phase = at["phase"].capitalize()
                    if "score" in at:
                        note(f"{phase}: scores {at['score']:g} on {plural(at['total'], 'held-out example')}")
                    else:
                        update(f"{phase}, {at['done']} of {at['total']}")

                found = await optimize_program(
                    program,
                    library,
                    dspy.runner,
                    name=new_name,
                    force=force,
                    call=dspy.call_tool,
                    examples=examples,
                    metric=metric,
                    optimizer=optimizer,
                    budget=budget,
                    context=context,
                    progress=on_progress,
                    show=note,
                )
    except asyncio.CancelledError:
        note("Stopped; nothing was saved.")
        raise
    scores = {key: value for key, value in asdict(found).items() if key != "saved"}
    data = {"name": None} if found.saved is None else _saved_data(library, found.saved)
    text = f"Saved: {new_name}, in {data['path']}" if found.saved else "Not saved: it scored lower."
    invocation.report({**data, **scores}, "\n".join([text, *outline(scores)]))


def _saved_data(library: Library, saved: SavedProgram) -> dict[str, Any]:
    return {
        "name": saved.name,
        "version": saved.spec.version,
        "source_hash": saved.source_hash,
        "validation_score": saved.spec.validation_score,
        "path": str(library.file(saved.name)),
    }
