"""A normal form as places and steps, with what is left to be done from each place."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from halflap.workflows.machine import Builder

if TYPE_CHECKING:
    from halflap.workflows.machine import Machine
    from halflap.workflows.normalform import Form, Forms

__all__ = ["machine_of_form"]


def machine_of_form(forms: Forms, number: int) -> tuple[Machine, list[Fraction]]:
    """Take a form as places and steps.

    Beside it, for each place, what a token there adds to the length of the shortest way to the end: of what comes after
    a join, each of the ways into it bears an equal share, so that the sum over all tokens is exactly that length.
    """
    made = _Unfolding(forms)
    end = made.place(Fraction(0))
    start = made.place(Fraction(forms.shortest[number]))
    made.waiting.append((number, start, end))
    while made.waiting:
        made.unfold(*made.waiting.pop())
    return made.build.machine(start, end), made.left


class _Unfolding:
    """Places and steps, and the forms that are still to be put between two places."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.build = Builder()
        self.left: list[Fraction] = []
        self.waiting: list[tuple[int, int, int]] = []

    def place(self, rest: Fraction) -> int:
        self.left.append(rest)
        return self.build.place()

    def unfold(self, number: int, begin: int, finish: int) -> None:
        form, after = self.forms.forms[number], self.left[finish]
        match form.kind:
            case "nothing" | "activity":
                self.build.step([begin], [finish], label=form.label)
            case "sequence":
                here, rest = begin, self.left[finish] + self.forms.shortest[number]
                for part in form.parts[:-1]:
                    rest -= self.forms.shortest[part]
                    there = self.place(rest)
                    self.waiting.append((part, here, there))
                    here = there
                self.waiting.append((form.parts[-1], here, finish))
            case "xor":
                self.waiting.extend((part, begin, finish) for part in form.parts)
            case "loop":
                again, between = form.parts
                here, there = self.place(after + self.forms.shortest[again]), self.place(after)
                self.build.step([begin], [here])
                self.build.step([there], [finish])
                self.waiting += [(again, here, there), (between, there, here)]
            case "and" | "or":
                self.branches(form, begin, finish)

    def branches(self, form: Form, begin: int, finish: int) -> None:
        lengths = [self.forms.shortest[part] for part in form.parts]
        share = self.left[finish] / len(form.parts)
        ways = [self.place(share + length) for length in lengths]
        done = [self.place(share) for _ in form.parts]
        self.build.step(done, [finish])
        self.waiting.extend(zip(form.parts, ways, done, strict=True))
        if form.kind == "and":
            self.build.step([begin], ways)
            return
        self.build.choose_some(begin, ways, done, "")
        for decided in range(1, len(form.parts)):
            undecided = share * (len(form.parts) - decided)
            # As `choose_some` makes them: none was chosen yet, some were.
            self.left += [undecided + min(lengths[decided:]), undecided]
