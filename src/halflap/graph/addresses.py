"""The functions of a generated program that take a parameter out of the address of a next page."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.graph.syntax import assign, call, constant, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.syntax import Names

__all__ = ["Addresses"]

_LONGEST = 80
_PLAIN = """
def decoded(text):
    first, *rest = text.replace('+', ' ').split('%')
    data = first.encode()
    for part in rest:
        try:
            data += bytes.fromhex(part[:2] or '%') + part[2:].encode()
        except ValueError:
            data += ('%' + part).encode()
    return data.decode('utf-8', 'replace')

def from_address(address, name):
    if '?' not in address:
        return None
    for part in address.partition('?')[2].partition('#')[0].split('&'):
        key, _, value = part.partition('=')
        letters = ''.join((one for one in decoded(key).lower() if one.isalnum()))
        if letters in (name, 'page' + name):
            return decoded(value)
    return None
"""
"""As it stands in every program that needs it, but for the names of the two functions."""


class Addresses:
    """Writes the calls of these functions, and the functions once they are called."""

    def __init__(self, names: Names) -> None:
        self._names = {one: names.make(one) for one in ("decoded", "from_address")}
        self._is_needed = False

    def part(self, address: str, parameter: str) -> ast.expr:
        """Write what an address in a variable has for a parameter, as text: none, where it has nothing."""
        self._is_needed = True
        # Others write `$skiptoken` or `page[number]`.
        letters = "".join(one for one in parameter.lower() if one.isalnum())
        return call(self._names["from_address"], load(address), constant(letters))

    def resolve(self, tool: str, cursor: str, parameter: str, *, may_be_whole: bool) -> Iterator[ast.stmt]:
        """Write that a variable which holds an address holds what that has for a parameter; else it stays as it is."""
        part = self.part(cursor, parameter)
        name = visible(parameter, _LONGEST)
        message = f"{tool} says by an address that there is more, which has no {name} to go on with."
        lacks = ast.If(
            ast.Compare(load(cursor), [ast.Is()], [constant(None)]),
            [ast.Raise(call("ValueError", constant(message)))],
            [],
        )
        body = [assign(cursor, ast.BoolOp(ast.Or(), [part, load(cursor)]))]
        yield ast.If(_is_address(cursor), body if may_be_whole else [assign(cursor, part), lacks], [])

    def number(self, address: str, parameter: str, into: str) -> Iterator[ast.stmt]:
        """Write that a variable is set to the number that an address has for a parameter, if it has one."""
        told = ast.BoolOp(ast.Or(), [self.part(address, parameter), constant("")])
        digits = call(ast.Attribute(told, "isdigit", ast.Load()))
        whole = call("int", ast.BoolOp(ast.Or(), [self.part(address, parameter), constant("0")]))
        yield ast.If(
            ast.BoolOp(ast.And(), [_is_address(address), digits]),
            [assign(into, whole)],
            [],
        )

    def written(self) -> list[ast.stmt]:
        """Write the functions, if they are called."""
        if not self._is_needed:
            return []
        tree = ast.parse(_PLAIN)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.name = self._names[node.name]
            elif isinstance(node, ast.Name):
                node.id = self._names.get(node.id, node.id)
        return tree.body


def _is_address(value: str) -> ast.expr:
    """Write that something is an address: a cursor is none."""
    marks = ast.BoolOp(
        ast.Or(), [ast.Compare(constant(mark), [ast.In()], [load(value)]) for mark in ("?", "://")]
    )
    return ast.BoolOp(ast.And(), [call("isinstance", load(value), load("str")), marks])
