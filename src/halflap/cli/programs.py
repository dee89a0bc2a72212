"""`halflap programs`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.making import export, optimize, promote
from halflap.cli.options import (
    ArgumentsOption,
    ConfigOption,
    JsonArgumentsOption,
    JsonOption,
    VerboseOption,
    arguments_of,
    confirmed,
    json_object,
    opened,
    program_names,
    read_config,
)
from halflap.cli.output import note, one_line, plural, print_json, print_lines, reported
from halflap.cli.progress import working
from halflap.core.values import DSPY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.config import Config
    from halflap.dspy.source import Loaded, ProgramResult

__all__ = ["programs"]

programs = typer.Typer(
    name="programs",
    help="List, show, run, reload, export and optimise saved DSPy programs.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)

_LONGEST_REASON = 1_000

NameArgument = Annotated[str, typer.Argument(help="The program's name.", autocompletion=program_names)]


@programs.callback()
@reported
def _programs(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the saved DSPy programs, as `halflap programs list` does."""
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


@programs.command(name="list")
@reported
def list_programs(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the saved DSPy programs, and broken ones with the reason. DSPy need not be installed."""
    _list(config, as_json=as_json)


def _list(config: Any, *, as_json: bool) -> None:
    found, broken = asyncio.run(_found(read_config(config)))
    if as_json:
        print_json(
            {
                "programs": [one.summary() for one in found.values()],
                "total_count": len(found),
                "broken": [{"name": name, "reason": reason} for name, reason in broken.items()],
            }
        )
        return
    for one in found.values():
        line = f"{_heading(one)}\n      {one_line(one.stored.manifest.description)}".rstrip()
        print_lines([line])
    for name, reason in broken.items():
        reasons = [one_line(one, _LONGEST_REASON) for one in reason.splitlines() if one.strip()]
        print_lines(["\n      ".join([one_line(name), *(f"[broken] {one}" for one in reasons)])])
    if not found and not broken:
        note("No DSPy programs are saved yet. Save one: halflap programs export MODULE:OBJECT NAME")


async def _found(config: Config) -> tuple[Mapping[str, Loaded], Mapping[str, str]]:
    async with opened(config) as gateway:
        return await (await gateway.dspy()).usable()


def _heading(one: Loaded) -> str:
    manifest = one.stored.manifest
    score = "" if manifest.validation_score is None else f", validation score {manifest.validation_score:g}"
    return one_line(
        f"{manifest.name} {manifest.version}  {plural(len(manifest.predictors), 'predictor')}, "
        f"optimizer {manifest.optimizer}{score}"
    )


@programs.command()
@reported
def info(name: NameArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show a DSPy program: inputs and outputs, predictors, versions and origin."""
    loaded = asyncio.run(_info(read_config(config), name))
    if as_json:
        print_json(loaded.info())
        return
    print_lines(_lines(loaded))


async def _info(config: Config, name: str) -> Loaded:
    async with opened(config) as gateway:
        return await (await gateway.dspy()).find(_own_name(name))


def _lines(loaded: Loaded) -> list[str]:
    from halflap.core.values import Tool
    from halflap.schema import parse_schema

    manifest = loaded.stored.manifest
    tool = Tool(
        f"{DSPY}__{manifest.name}", DSPY, manifest.name, "", manifest.input_schema, manifest.output_schema
    )
    lines = [
        _heading(loaded),
        f"  {one_line(manifest.description)}",
        f"  {parse_schema(tool).format_compact()}",
        f"  saved {one_line(manifest.serialized_at)} with DSPy {one_line(manifest.dspy_version)}",
        f"  source {loaded.stored.source_hash}",
    ]
    if len(loaded.stored.versions) > 1:
        lines.append(f"  versions {', '.join(map(one_line, loaded.stored.versions))}")
    for told, one in zip(loaded.info()["predictors"], manifest.predictors, strict=True):
        takes, gives = ", ".join(told["input_fields"]), ", ".join(told["output_fields"])
        examples = told["few_shot_example_count"]
        lines += [
            f"{one.name} ({one.kind}, {plural(examples, 'example')})",
            f"  {takes} -> {gives}",
            *([f"  may call {', '.join(one.tools)}"] if one.tools else []),
        ]
    return lines


@programs.command()
@reported
def run(
    name: NameArgument,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Allow calls of destructive tools without asking.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a DSPy program with the model of `programs.lm`, and print its outputs as JSON.

    With --json, they include the times of the run.
    """
    given = json_object(arguments, json_arguments)
    result = asyncio.run(_run(read_config(config), _own_name(name), arguments or [], given, yes=yes))
    if as_json:
        print_json(result.answer(_own_name(name)))
        return
    outcome = result.outcome
    print_json(outcome.outputs)
    cached = "; all answers were cached" if outcome.cache_hit else ""
    note(f"It took {outcome.total_time_ms:,.0f} ms{cached}.")


async def _run(
    config: Config, name: str, pairs: Sequence[str], given: Mapping[str, Any] | None, *, yes: bool
) -> ProgramResult:
    async with opened(config) as gateway:
        stored = (await (await gateway.dspy()).find(name)).stored
        if given is None:
            given = arguments_of(pairs, stored.manifest.input_schema)
        tools = await gateway.dspy_needing_confirmation(name)
        context = confirmed(tools, f"{DSPY}__{name}", yes=yes)
        with working(f"Running {one_line(name)}"):
            return await gateway.execute_dspy(name, given, context)


@programs.command()
@reported
def reload(name: NameArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Read and build a DSPy program again, and report what is wrong with it.

    A running gateway reloads it with dspy_reload_program, or by itself with `programs.watch`.
    """
    loaded = asyncio.run(_reload(read_config(config), _own_name(name)))
    if as_json:
        print_json(loaded.reloaded())
    else:
        note(f"Valid: {_heading(loaded)}, source {loaded.stored.source_hash}")


async def _reload(config: Config, name: str) -> Loaded:
    async with opened(config) as gateway:
        with working(f"Building {one_line(name)}"):
            return await (await gateway.dspy()).reload(name)


def _own_name(name: str) -> str:
    return name.removeprefix(f"{DSPY}__")


programs.command(name="export")(export)
programs.command(name="optimize")(optimize)
programs.command(name="promote")(promote)
