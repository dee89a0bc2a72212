"""Questions to ty about the values in a program, asked by assertions put around them.

`assert_type(question(value), Yes)` passes only if every type that the value may have is among those of the question:
of what may be `Any`, ty does not know which overload it gets. So the answer is whether ty objects at that place,
whatever it calls that. A control that must fail shows that ty looked at the place at all.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from halflap.sandbox.check.inside.rewrite import Edits, Rewritten, call, name
from halflap.sandbox.check.inside.tree import Positions

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.answer import Place

__all__ = ["Probes", "Types"]

_MAX_PROBES = 2_000
_ASSERT, _CONTROL, _YES = "assert_type", "HalflapControl", "HalflapYes"
_DECLARATIONS = """
from typing import assert_type as assert_type
from collections.abc import Awaitable, Coroutine, Sequence
class HalflapYes: ...
class HalflapNo: ...
class HalflapControl: ...
"""
Types = tuple[str, ...]
_UNPROBED = (ast.Starred, ast.GeneratorExp)
"""They cannot be put into parentheses of their own."""


class Probes:
    """The questions about one program, and the answers."""

    def __init__(self) -> None:
        self._questions: dict[tuple[Types, Types], str] = {}
        self._asked: dict[ast.expr, list[str]] = {}
        self._variables: dict[str, ast.expr] = {}
        self._passed: set[tuple[ast.expr, str]] | None = None
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._asked)

    def all_are(self, value: ast.expr, types: Types, *, but: Types = ()) -> bool:
        """Return whether a value is certainly of one of these types and of none of the others; ask, the first time."""
        question = self._questions.setdefault((types, but), f"halflap_{len(self._questions)}")
        if self._passed is not None:
            return (value, question) in self._passed
        asked = self._asked.setdefault(value, []) if not isinstance(value, _UNPROBED) else None
        if asked is not None and question not in asked and self._count < _MAX_PROBES:
            self._count += 1
            asked.append(question)
        return False

    def members(self, value: ast.expr, options: Sequence[Types], others: Types = ()) -> list[int]:
        """Return which of the options a value may be; none if it may be something that is not listed at all."""
        is_known = self.all_are(value, (*chain(*options), *others))
        # Of a union, ty says only whether a parameter takes all of it.
        needed = [
            not self.all_are(value, (*chain(*options[:number], *options[number + 1 :]), *others))
            for number in range(len(options))
        ]
        return [number for number, is_needed in enumerate(needed) if is_known and is_needed]

    def declarations(self) -> str:
        """Return what the assertions use, as a part of the stubs."""
        parts = [_DECLARATIONS]
        for (types, but), question in self._questions.items():
            listed = [(but, "HalflapNo"), (types, _YES), (("object",), "HalflapNo")]
            parts += [
                f"@overload\ndef {question}(value: {' | '.join(one)}, /) -> {result}: ..."
                for one, result in listed
                if one
            ]
        return "\n".join(parts)

    def edits(self) -> Edits:
        """Return the edits that put the assertions into the program."""
        found: Edits = {}
        for number, (value, questions) in enumerate(self._asked.items()):
            variable = f"halflap_v{number}"
            self._variables[variable] = value
            asserted = [
                call(_ASSERT, name(variable), name(_CONTROL)),
                *(call(_ASSERT, call(question, name(variable)), name(_YES)) for question in questions),
            ]

            def probed(
                made: ast.expr, variable: str = variable, asserted: list[ast.Call] = asserted
            ) -> ast.expr:
                kept = ast.NamedExpr(ast.Name(variable, ast.Store()), made)
                return ast.Subscript(ast.Tuple([kept, *asserted], ast.Load()), ast.Constant(0), ast.Load())

            found[value] = [probed]
        return found

    def read(self, rewritten: Rewritten, failed: Collection[Place]) -> None:
        """Take the places at which ty objects as answers; from now on, questions are answered."""
        positions = Positions(rewritten.text)
        starts = {one[:2] for one in failed}
        looked: set[ast.expr] = set()
        passed: set[tuple[ast.expr, str]] = set()
        for node in ast.walk(rewritten.parsed):
            match node:
                case ast.Call(func=ast.Name(id="assert_type"), args=[asked, _]):
                    parts = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
                    objected = not starts.isdisjoint(positions.place(one)[:2] for one in parts)
                    match asked:
                        case ast.Name(id=variable) if objected:
                            looked.add(self._variables[variable])
                        case ast.Call(func=ast.Name(id=question), args=[ast.Name(id=variable)]) if (
                            not objected
                        ):
                            passed.add((self._variables[variable], question))
        self._passed = {one for one in passed if one[0] in looked}
