"""Mistakes in using what a tool returned: a key that is not there, a list taken for a dict."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from sandbox.check.misspell import misspellings
from sandbox.check.source import Edit
from sandbox.check.subject import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from sandbox.check.origins import Origin
    from sandbox.check.subject import Subject

__all__ = ["lists_as_dicts", "misspelt_keys"]


def misspelt_keys(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Read a key that is spelt otherwise."""
    for node, key in _reads(subject):
        span = subject.source.span(node.slice)
        if span is None or not key.isidentifier() or _has_every_key(subject, node.value):
            continue
        new = next(((how, new) for how, new in misspellings(key, random) if new not in subject.words), None)
        if new is None:
            continue
        origin = subject.origins.of(node.value)
        traced = origin is not None and origin.has(key)
        if origin is None:
            declared = key in subject.returned_keys and not subject.has_undeclared
            tool = subject.returned_keys.get(key) if declared else None
        else:
            declared, tool = traced, origin.tool
        # Of the text between the quotes alone: in an f-string they have to stay of the other kind.
        quote = len(subject.source.text(*span)) - len(key)
        edit = Edit(span[0] + quote // 2, span[1] - quote // 2, new[1])
        yield Mistake(
            edit,
            f"key {key} is spelt {new[1]}: {new[0]}",
            tool,
            declared=declared and key not in subject.written_keys,
            traced=traced,
        )


def lists_as_dicts(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Read a key of a list: of the list instead of its item, or of a wrapper that is not there."""
    found = [*_without_index(subject), *_without_loop(subject), *_of_a_list(subject, random)]
    yield from sorted(found, key=lambda one: one.edit.start)


def _without_index(subject: Subject) -> Iterator[Mistake]:
    """Turn `rows[0]["x"]` into `rows["x"]`."""
    for node, key in _reads(subject):
        indexed = node.value
        if not isinstance(indexed, ast.Subscript) or not _is_number(indexed.slice):
            continue
        outer, inner = subject.source.span(indexed), subject.source.span(indexed.value)
        origin = subject.origins.of(indexed.value)
        if outer is not None and inner is not None and (origin is None or origin.is_array):
            # A parenthesis that closes before the index stays.
            text = subject.source.text(inner[1], outer[1])
            start = inner[1] + text.index("[")
            yield _as_dict(Edit(start, outer[1], ""), f"[{key!r}] of the list itself", origin)


def _without_loop(subject: Subject) -> Iterator[Mistake]:
    """Turn `row["x"]` within `for row in rows` into `rows["x"]`."""
    loops = {
        (scope, node.target.id): node.iter
        for node in ast.walk(subject.source.tree)
        if isinstance(node, ast.For | ast.comprehension)
        and isinstance(node.target, ast.Name)
        and isinstance(node.iter, ast.Name)
        for scope in [node if isinstance(node, ast.For) else subject.source.parents[node]]
    }
    for node, key in _reads(subject):
        if not isinstance(node.value, ast.Name):
            continue
        around: ast.AST | None = node
        while around is not None and (around, node.value.id) not in loops:
            around = subject.source.parents.get(around)
        span = subject.source.span(node.value)
        if around is not None and span is not None:
            rows = loops[around, node.value.id]
            origin = subject.origins.of(rows)
            if origin is not None and origin.is_array:
                yield _as_dict(
                    Edit(*span, rows.id), f"[{key!r}] of {rows.id}, not of {node.value.id}", origin
                )


def _of_a_list(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Turn `rows` into `rows["x"]`: a key of its items, or the wrapper that has been taken off."""
    for node in subject.source.walk():
        if not isinstance(node, ast.Await | ast.Subscript) or not isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            continue
        origin, span = subject.origins.of(node), subject.source.span(node)
        if origin is None or not origin.is_array or span is None or _is_slice(node):
            continue
        if isinstance(subject.source.parents.get(node), ast.Subscript):
            continue
        item = origin.item()
        keys = [field.name for field in item.type.fields] if item is not None else []
        key = random.choice(["result", *keys])
        text = subject.source.text(*span)
        quote = "'" if '"' not in text and "'" in text else '"'
        whole = f"({text})" if isinstance(node, ast.Await) else text
        yield _as_dict(Edit(*span, f"{whole}[{quote}{key}{quote}]"), f"[{key!r}] of a list", origin)


def _as_dict(edit: Edit, change: str, origin: Origin | None) -> Mistake:
    known = origin is not None
    return Mistake(edit, change, origin.tool if origin else None, declared=known, traced=known)


def _reads(subject: Subject) -> Iterator[tuple[ast.Subscript, str]]:
    for node in subject.source.walk():
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Load()):
                yield node, key


def _has_every_key(subject: Subject, node: ast.expr) -> bool:
    """Say whether a variable is a dict that gives something for any key: there a wrong one is not noticed."""
    for other in ast.walk(subject.source.tree):
        match other:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=made))):
                if made in {"Counter", "defaultdict"} and isinstance(node, ast.Name) and node.id == name:
                    return True
    return False


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)
