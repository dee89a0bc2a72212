"""Questions to ty about the values in a program, asked by assertions put around them.

`assert_type(question(value), Yes)` passes only if every type that the value may have is among those of the question:
of what may be `Any`, ty does not know which overload it gets. So the answer is whether ty objects at that place,
whatever it calls that. A control that must fail shows that ty looked at the place at all.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.tree import Positions

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.answer import Place
    from halflap.sandbox.check.inside.rewrite import Edits, Rewritten

_MAX_PROBES = 2_000
_DECLARATIONS = """
from typing import assert_type as assert_type
from collections.abc import Awaitable, Coroutine, Sequence
class HalflapYes: ...
class HalflapNo: ...
class HalflapControl: ...
"""
_QUESTION = """
@overload
def {name}(value: {types}, /) -> HalflapYes: ...
@overload
def {name}(value: object, /) -> HalflapNo: ...
"""
Types = tuple[str, ...]
_UNPROBED = (ast.Starred, ast.GeneratorExp)
"""These cannot be wrapped in parentheses."""


class Probes:
    """The questions about one program, and the answers."""

    def __init__(self) -> None:
        self._names: dict[Types, str] = {}
        """The questions, each by the types that it asks about."""
        self._asked: dict[ast.expr, list[str]] = {}
        self._passed: set[tuple[ast.expr, str]] | None = None
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._asked)

    def all_are(self, value: ast.expr, types: Types) -> bool:
        """Return whether a value is certainly of one of these types; before the second run, ask."""
        question = self._names.setdefault(types, f"halflap_{len(self._names)}")
        if self._passed is not None:
            return (value, question) in self._passed
        if not isinstance(value, _UNPROBED) and self._count < _MAX_PROBES:
            asked = self._asked.setdefault(value, [])
            if question not in asked:
                self._count += 1
                asked.append(question)
        return False

    def declarations(self) -> str:
        """Return what the assertions use, as a part of the stubs."""
        questions = [
            _QUESTION.format(name=name, types=" | ".join(types)) for types, name in self._names.items()
        ]
        return "".join([_DECLARATIONS, *questions])

    def edits(self) -> Edits:
        """Return the edits that put the assertions into the program."""
        return {
            value: [partial(_probed, number=number, questions=questions)]
            for number, (value, questions) in enumerate(self._asked.items())
        }

    def read(self, rewritten: Rewritten, failed: Collection[Place]) -> None:
        """Take the places at which ty objects as answers; from now on, questions are answered."""
        place = Positions(rewritten.text).place
        starts = {one[:2] for one in failed}
        values = list(self._asked)
        self._passed = set()
        for node in ast.walk(rewritten.parsed):
            match node:
                case ast.Tuple(elts=[ast.NamedExpr(target=ast.Name(id=variable)), control, *probes]) if (
                    variable.startswith("halflap_v")
                ):
                    value = values[int(variable.removeprefix("halflap_v"))]
                    objected = [
                        any(place(part)[:2] in starts for part in ast.walk(one) if isinstance(part, ast.expr))
                        for one in (control, *probes)
                    ]
                    if objected[0]:
                        answers = zip(self._asked[value], objected[1:], strict=True)
                        self._passed |= {(value, question) for question, failed in answers if not failed}


def _probed(value: ast.expr, number: int, questions: Sequence[str]) -> ast.expr:
    """Return an expression with the same value, and the assertions about it."""
    variable = f"halflap_v{number}"
    asserted = "".join(f", assert_type({one}({variable}), HalflapYes)" for one in questions)
    template = f"(({variable} := ...), assert_type({variable}, HalflapControl){asserted})[0]"
    made: Any = ast.parse(template, mode="eval").body
    made.value.elts[0].value = value
    return made  # type: ignore[no-any-return]
