"""A net as a picture: text for Mermaid or Graphviz to draw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import visible

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

_LONGEST = 60
_SIGNS = {"and": "∧", "xor": "\u00d7", "or": "○"}
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:/·▶■")


class _Node(NamedTuple):
    id: str
    round: bool
    silent: bool
    lines: list[str]


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
        shape, style = "ellipse" if node.round else "box", ", style=dashed" if node.silent else ""
        lines.append(f"    {node.id} [shape={shape}, label={_quoted(node.lines)}{style}];")
    for source, target, words in arrows:
        lines.append(f"    {source} -> {target}{f' [label={_quoted(words)}]' if words else ''};")
    return "\n".join([*lines, "}"])


def _drawn(net: Net) -> tuple[list[_Node], list[tuple[str, str, list[str]]]]:
    incoming, outgoing = net.incoming(), net.outgoing()
    ordered = dict.fromkeys((net.input, *net.tasks, *net.conditions, net.output))
    names = {name: f"n{at}" for at, name in enumerate(ordered, 1)}
    nodes = []
    for name, own in names.items():
        task = net.tasks.get(name)
        if task is None:
            mark = {net.input: "▶", net.output: "■"}.get(name, "")
            nodes.append(_Node(own, True, False, _lines([mark], [net.conditions[name].label])))
            continue
        gates = [f"{_SIGNS[task.join]} join"] if len(incoming[name]) > 1 else []
        gates += [f"{_SIGNS[task.split]} split"] if len(outgoing[name]) > 1 else []
        duration = None if task.duration is None else f"{task.duration:g} s"
        cost = None if task.cost is None else f"cost {task.cost:g}"
        label = "τ" if task.label is None else task.label
        nodes.append(
            _Node(own, False, task.label is None, _lines([label], [duration, cost, task.resource], gates))
        )
    xpaths = {one.at: one.text for one in net.kept if one.name == "predicate"}
    arrows = []
    for flow in net.flows:
        chance = None if flow.probability is None else f"{flow.probability:g}"
        words = _lines(
            [flow.predicate or xpaths.get(flow.key)], [chance, "default" if flow.default else None]
        )
        arrows.append((names[flow.source], names[flow.target], words))
    return nodes, arrows


def _lines(*lines: list[str | None] | list[str]) -> list[str]:
    """Return each line with its words, short and visible; without empty lines."""
    shown = ([visible(" ".join(one.split()), _LONGEST) for one in line if one] for line in lines)
    return [" · ".join(line) for line in shown if line]


def _entities(text: str) -> str:
    """Write everything but letters, digits and a few signs as Mermaid's numbered characters."""
    return "".join(
        one if one in _SAFE or (one.isalpha() and not one.isascii()) else f"#{ord(one)};" for one in text
    )


def _quoted(lines: Iterable[str]) -> str:
    escaped = (one.replace("\\", "\\\\").replace('"', '\\"') for one in lines)
    return '"' + "\\n".join(escaped) + '"'
