"""A net as a picture: text for Mermaid or Graphviz to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.model.net import Flow, Net, Task

__all__ = ["dot", "mermaid"]

_LONGEST = 60
_SIGNS = {"and": "∧", "xor": "\u00d7", "or": "○"}
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:/·▶■")


@dataclass(frozen=True, slots=True)
class _Node:
    id: str
    round: bool
    silent: bool
    lines: tuple[str, ...]


def mermaid(net: Net) -> str:
    nodes, arrows = _drawn(net)
    lines = ["flowchart LR"]
    for node in nodes:
        text = "<br/>".join(map(_entities, node.lines)) or " "
        opening, closing = ('(("', '"))') if node.round else ('["', '"]')
        lines.append(f"    {node.id}{opening}{text}{closing}")
    for source, target, words in arrows:
        label = f'|"{"<br/>".join(map(_entities, words))}"|' if words else ""
        lines.append(f"    {source} -->{label} {target}")
    silent = ",".join(node.id for node in nodes if node.silent)
    if silent:
        lines += ["    classDef silent stroke-dasharray:4 3,color:#64748b", f"    class {silent} silent"]
    return "\n".join(lines)


def dot(net: Net) -> str:
    nodes, arrows = _drawn(net)
    lines = ["digraph workflow {", "    rankdir=LR;"]
    for node in nodes:
        style = ", style=dashed" if node.silent else ""
        lines.append(
            f"    {node.id} [shape={'ellipse' if node.round else 'box'}, label={_quoted(node.lines)}{style}];"
        )
    lines += [
        f"    {source} -> {target}{f' [label={_quoted(words)}]' if words else ''};"
        for source, target, words in arrows
    ]
    return "\n".join([*lines, "}"])


def _drawn(net: Net) -> tuple[list[_Node], list[tuple[str, str, list[str]]]]:
    incoming, outgoing = net.incoming(), net.outgoing()
    ordered = dict.fromkeys((net.input, *net.tasks, *net.conditions, net.output))
    names = {name: f"n{at}" for at, name in enumerate(ordered, 1)}
    nodes = []
    for name, own in names.items():
        task = net.tasks.get(name)
        if task is not None:
            gates = [f"{_SIGNS[task.join]} join"] if len(incoming[name]) > 1 else []
            gates += [f"{_SIGNS[task.split]} split"] if len(outgoing[name]) > 1 else []
            lines = [*_described(task), " · ".join(gates)]
        else:
            label = net.conditions[name].label
            mark = {net.input: "▶", net.output: "■"}.get(name, "")
            lines = [mark, "" if label is None else _shown(label)]
        silent = task is not None and task.label is None
        nodes.append(_Node(own, task is None, silent, tuple(filter(None, lines))))
    xpaths = {one.at: one.text for one in net.kept if one.name == "predicate"}
    return nodes, [(names[flow.source], names[flow.target], _condition(flow, xpaths)) for flow in net.flows]


def _described(task: Task) -> list[str]:
    marks = [f"{task.duration:g} s"] if task.duration is not None else []
    marks += [f"cost {task.cost:g}"] if task.cost is not None else []
    marks += [_shown(task.resource)] if task.resource is not None else []
    return ["τ" if task.label is None else _shown(task.label), " · ".join(marks)]


def _condition(flow: Flow, xpaths: dict[str, str]) -> list[str]:
    predicate = flow.predicate or xpaths.get(flow.key)
    marks = [f"{flow.probability:g}"] if flow.probability is not None else []
    marks += ["default"] if flow.default else []
    return list(filter(None, ["" if predicate is None else _shown(predicate), " · ".join(marks)]))


def _shown(text: str) -> str:
    return visible(" ".join(text.split()), _LONGEST)


def _entities(text: str) -> str:
    """Write everything but letters, digits and a few signs as Mermaid's numbered characters."""
    return "".join(
        one if one in _SAFE or (one.isalpha() and not one.isascii()) else f"#{ord(one)};" for one in text
    )


def _quoted(lines: Iterable[str]) -> str:
    escaped = (one.replace("\\", "\\\\").replace('"', '\\"') for one in lines)
    return '"' + "\\n".join(escaped) + '"'
