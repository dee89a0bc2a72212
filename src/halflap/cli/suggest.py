"""`halflap suggest`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import ConfigOption, JsonOption, VerboseOption, opened, read_config, tool_names
from halflap.cli.output import harmless, note, one_line, print_json, print_lines, reported
from halflap.cli.progress import working
from halflap.cli.tools import warn_about_servers
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.config import Config
    from halflap.graph.edges import Graph

__all__ = ["suggest"]


@reported
def suggest(
    goal: Annotated[
        list[str] | None, typer.Argument(help="Words to search for, in any language.", show_default=False)
    ] = None,
    want: Annotated[
        list[str] | None,
        typer.Option(
            "--want",
            "-w",
            metavar="TOOL_OR_FIELD",
            help="Plan for a tool or a field, by its name; repeat it for several.",
            autocompletion=tool_names,
        ),
    ] = None,
    have: Annotated[
        list[str] | None,
        typer.Option(
            "--have",
            metavar="NAME=VALUE",
            help="An available value; NAME alone for one you'll supply later.",
        ),
    ] = None,
    may_change: Annotated[
        bool, typer.Option("--may-change", help="Allow steps on the way that may change something.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=10, help="Maximum number of suggestions.")
    ] = None,
    program: Annotated[bool, typer.Option("--program", help="Print the best one's program alone.")] = False,
    net: Annotated[
        bool, typer.Option("--net", help="Print the best one as a net alone, for `halflap workflow`.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Suggest how to combine tools: which to call, in which order, as a program.

    The exit code is 1 if nothing was found.
    """
    if as_json and program:
        raise UsageError("--json and --program exclude each other: the data has the program in it.")
    if program and net:
        raise UsageError("--program and --net exclude each other: one of them is printed.")
    words = " ".join(goal or ())
    asked = _suggested(read_config(config), words, want, have or [], limit, may_change=may_change, nets=net)
    found = asyncio.run(asked)
    best = found["suggestions"][0] if found["suggestions"] else None
    if as_json:
        print_json(found)
    elif program and best is not None:
        sys.stdout.write(harmless(best["program"]).rstrip() + "\n")
    elif net and best is not None:
        print_json(best["net"])
        for remark in best["net"].get("notes", ()):
            note(f"Note: {one_line(remark, 500)}")
    elif program or net:
        note("\n".join(_missing(found["missing"])))
    else:
        print_lines(_lines(found))
    sys.stdout.flush()
    if best is None and not found["changes"]:
        raise typer.Exit(1)


async def _suggested(
    config: Config,
    goal: str,
    want: Sequence[str] | None,
    have: Sequence[str],
    limit: int | None,
    *,
    may_change: bool,
    nets: bool,
) -> dict[str, Any]:
    async with opened(config) as gateway:
        with working("Planning"):
            graph = await gateway.graph(behind=False)
            at_hand = _at_hand(have, graph)
            found = await gateway.suggest_workflow(
                goal or None, at_hand, want, limit, may_change=may_change, behind=False, nets=nets
            )
            warn_about_servers(gateway)
            return found


def _at_hand(pairs: Sequence[str], graph: Graph) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not name:
            raise UsageError(f"--have {pair!r} is not of the form NAME=VALUE, or NAME.")
        if name in found:
            raise UsageError(f"--have {name!r} is given twice. A list is one value: --have '{name}=[1, 2]'.")
        found[name] = _value(name, text, graph) if equals else None
    return found


def _value(name: str, text: str, graph: Graph) -> Any:
    """Read a value as JSON, or as text where parameters of that name take text and nothing else that it could be."""
    from halflap.graph.naming import words_of  # noqa: PLC0415 -- it loads much that other commands do not need
    from halflap.graph.plan import admits  # noqa: PLC0415 -- as above

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, str):
        return value
    wanted = words_of(name)
    types = [
        slot.type
        for ports in graph.tools.values()
        for slot in ports.slots
        if words_of(" ".join(step.key for step in slot.path if step.kind == "key")) == wanted
        or (slot.path[-1].kind == "key" and words_of(slot.path[-1].key) == wanted)
    ]
    takes_text = any(admits(kind, text) for kind in types)
    # With a list of what is taken, the call is made for each item.
    each = value if isinstance(value, list) else [value]
    fits = any(admits(kind, value) or all(admits(kind, one) for one in each) for kind in types)
    return text if takes_text and not fits else value


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for number, one in enumerate([*found["suggestions"], *found["changes"]], 1):
        if number > 1:
            yield ""
        if number == len(found["suggestions"]) + 1:
            yield "These may change something, and have a program once named with --want:"
        yield f"{number}. {' → '.join(one_line(tool) for tool in one['tools'])}  {_how_sure(one)}"
        if one.get("signature"):
            yield f"   {one_line(one['signature'], 300)}"
        for step in one["steps"]:
            yield from _step(step)
        for unused in one["unused"]:
            yield f"   Not used: {one_line(unused['name'])}: {one_line(unused['why'], 300)}"
    if found["missing"]:
        if found["suggestions"]:
            yield ""
        yield from _missing(found["missing"])
    if found["suggestions"]:
        yield ""
        yield "The program of the first: the same command with --program; as a net: --net. Everything: --json."


def _how_sure(one: Mapping[str, Any]) -> str:
    """Return the confidence of a workflow, or what has to be filled in."""
    sure = f"{one['confidence']:.2f} sure"
    if not one["missing"]:
        return sure
    named = ", ".join(dict.fromkeys(one_line(lack["parameter"]) for lack in one["missing"]))
    links = any(given["from"] == "step" for step in one["steps"] for given in step["arguments"].values())
    rest = f"; the rest is {sure}" if links or one["confidence"] < 1 else ""
    return f"not complete: fill in {one_line(named, 200)}{rest}"


def _step(step: Mapping[str, Any]) -> Iterator[str]:
    marks = []
    if step["fan_out"]:
        marks.append("for each of " + ", ".join(f"{one['step']}: {one['path']}" for one in step["fan_out"]))
    if step["paginates"]:
        marks.append("all pages")
    if step.get("may_change_something"):
        marks.append("may change something")
    if step["crosses_servers"]:
        marks.append("takes data from " + ", ".join(sorted({one["from"] for one in step["crosses_servers"]})))
    aside = f"  ({one_line('; '.join(marks), 300)})" if marks else ""
    yield f"   {step['id']}  {one_line(step['tool'])}{aside}"
    for name, given in step["arguments"].items():
        yield f"       {one_line(name)} {_given(given)}"
    for one in step["only_where"]:
        yield f"       only where {one_line(one['path'], 120)} {_compared(one)}"


def _compared(one: Mapping[str, Any]) -> str:
    how = "is one of" if one.get("each") else "="
    value = one_line(one["name"]) if one["value"] is None else one_line(json.dumps(one["value"]), 80)
    return f"{how} {value}"


def _given(given: Mapping[str, Any]) -> str:
    if given["from"] == "have":
        value = given.get("value")
        if given.get("each"):
            return f"= each of {one_line(json.dumps(value), 80)}"
        return f"= {one_line(json.dumps(value), 80)}" if value is not None else "is available"
    if given["from"] == "step":
        return f"← {given['step']}: {one_line(given['path'], 120)}  {given['confidence']:.2f}"
    return {"default": "has a default", "missing": "is missing"}[given["from"]]


def _missing(missing: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in missing:
        whose = f" of {one_line(one['tool'])}" if one.get("tool") else ""
        more = f": {one_line(one['note'], 300)}" if one.get("note") else ""
        yield f"Missing: {one_line(one['parameter'])}{whose}{more}"
        for what, near in (("could come from", "could_provide"), ("near", "near")):
            for who in one.get(near, ()):
                place = f": {one_line(who['path'], 120)}" if who.get("path") else ""
                needs = f", given {one_line(', '.join(who['needs']), 120)}" if who.get("needs") else ""
                why = f": {one_line(who['why'], 200)}" if who.get("why") else ""
                yield f"  {what} {one_line(who['tool'])}{place}{needs}{why}"
