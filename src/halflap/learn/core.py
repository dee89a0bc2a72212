"""The one door to learning, behind which a faster core could stand without anyone noticing."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from halflap.learn.infer import Inference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.learn.shape import Shape

__all__ = ["Observer", "infer", "observer"]


class Observer(Protocol):
    """Watches results pass, any number of them."""

    def observe(self, value: Any, digest: int = 0, at: float | None = None) -> None:
        """Take in one result: `digest` stands for the arguments that it answers, `at` is when, in seconds.

        Of a text in it that is `Unkept`, no value is kept.
        """
        ...

    def shape(self) -> Shape:
        """Give what was seen so far; more can be observed afterwards."""
        ...


def observer(*, values: bool = False) -> Observer:
    """Begin to watch; with `values`, short strings are kept too, while there are few."""
    return Inference(values=values)


def infer(values: Iterable[Any], digests: Iterable[int] = repeat(0), *, keep_values: bool = False) -> Shape:
    """Give the shape of some values, each of which answers the arguments of the digest beside it."""
    watching = observer(values=keep_values)
    for value, digest in zip(values, digests, strict=False):
        watching.observe(value, digest)
    return watching.shape()
