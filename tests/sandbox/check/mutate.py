"""Makes wrong programs out of correct ones, mechanically, one mistake each.

`Mutation.declared` says whether the mistake is against something that a tool declares, by these rules:

- What is wrong with a call (its name, its arguments, its `await`) always is: every tool declares its input.
- A misspelt key is, if the program nowhere writes that key itself (in a dict display, by a store, as a keyword of
  a call that is none of a tool), and if either the value is known to be a part of a tool's declared result that
  has the key (`Mutation.traced`, see `origins`), or its origin is not known, some tool that the program names
  declares the key in its result, and no tool that it names leaves its result undeclared.
- A list indexed as a dict is, if the list is known to be a part of a tool's declared result.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal, get_args

from sandbox.check import call_mistakes, result_mistakes
from sandbox.check.subject import Mistake, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from halflap.core.values import Tool
    from sandbox.check.world import Program

__all__ = ["KINDS", "Kind", "Mutation", "mutations"]

Kind = Literal[
    "misspelt key",
    "dropped argument",
    "renamed argument",
    "wrong type",
    "wrong enum value",
    "removed await",
    "wrong tool name",
    "list as dict",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_MOST_OF_A_KIND = 4
_MAKERS: Mapping[Kind, Callable[[Subject, Random], Iterator[Mistake]]] = {
    "misspelt key": result_mistakes.misspelt_keys,
    "dropped argument": call_mistakes.dropped_arguments,
    "renamed argument": call_mistakes.renamed_arguments,
    "wrong type": call_mistakes.wrong_types,
    "wrong enum value": call_mistakes.wrong_enum_values,
    "removed await": call_mistakes.removed_awaits,
    "wrong tool name": call_mistakes.wrong_tool_names,
    "list as dict": result_mistakes.lists_as_dicts,
}


@dataclass(frozen=True)
class Mutation:
    """A correct program with one mistake in it."""

    kind: Kind
    program: str
    line: int
    before: str
    """What stood in the place that was changed."""
    after: str
    change: str
    """What was changed, in words."""
    tool: str | None
    """The tool concerned, where it is known."""
    declared: bool
    """Whether it is against what a tool declares."""
    traced: bool
    """Whether what it is about is known to be a tool's: a call, or a value that is a tool's declared result."""
    code: str


def mutations(programs: Iterable[Program], tools: Mapping[str, Tool]) -> list[Mutation]:
    """Make the mutations of those programs whose servers are all there; the same ones every time."""
    servers = {tool.server for tool in tools.values()}
    return [
        mutation
        for program in programs
        if program.servers <= servers
        for kind in KINDS
        for mutation in _of_a_kind(kind, Subject(program, tools))
    ]


def _of_a_kind(kind: Kind, subject: Subject) -> Iterator[Mutation]:
    random = Random(f"{subject.program.name}/{kind}")
    source = subject.source
    made = {source.edited(one.edit): one for one in _MAKERS[kind](subject, random)}
    chosen = random.sample(list(made.items()), min(len(made), _MOST_OF_A_KIND))
    for code, mistake in sorted(chosen, key=lambda one: one[1].edit.start):
        edit = mistake.edit
        yield Mutation(
            kind=kind,
            program=subject.program.name,
            line=source.line(edit.start),
            before=source.text(edit.start, edit.end),
            after=edit.text,
            change=mistake.change,
            tool=mistake.tool,
            declared=mistake.declared,
            traced=mistake.traced,
            code=code,
        )
