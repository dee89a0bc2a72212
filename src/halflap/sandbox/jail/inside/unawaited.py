"""Warns about calls that were never awaited, also those still in a variable, about which Python says nothing."""

from __future__ import annotations

import sys
import warnings
from itertools import islice
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from halflap.sandbox.messages import FILE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["Unawaited"]

_MOST = 1_000


class Unawaited:
    """Warns with the line of the program that made the call."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._registry: dict[Any, Any] = {}
        self._is_over = False

    def attach(self) -> None:
        """Warn about each that is dropped."""
        sys.set_coroutine_origin_tracking_depth(1)
        warnings._warn_unawaited_coroutine = self._warn  # type: ignore[attr-defined] # noqa: SLF001

    def stop(self) -> None:
        """Stop warning: what a failure drops is not its cause."""
        self._is_over = True

    def finish(self, names: Mapping[str, Any]) -> None:
        """Warn about those that are still in variables when the program has ended."""
        for one in _coroutines(names):
            if one.cr_frame is not None and not one.cr_suspended and not one.cr_running:
                self._warn(one)
        self.stop()

    def _warn(self, coroutine: CoroutineType[Any, Any, Any]) -> None:
        if self._is_over:
            return
        name = coroutine.__qualname__.removeprefix("<module>.").replace("<locals>.", "")
        if name in self._tools:
            said = f"a call of {name} was never awaited: nothing was called. Write `await` before it."
        else:
            said = f"{name}() was never awaited: nothing of it ran. Write `await` before it."
        origin = coroutine.cr_origin
        line = origin[0][1] if origin and origin[0][0] == FILE else 1
        warnings.warn_explicit(said, RuntimeWarning, FILE, line or 1, registry=self._registry)


def _coroutines(names: Mapping[str, Any]) -> Iterator[CoroutineType[Any, Any, Any]]:
    """Return the coroutines in variables, and in lists and dicts there."""
    for value in list(names.values()):
        inner: Any = (value,)
        if type(value) in {list, tuple}:
            inner = value
        elif type(value) is dict:
            inner = value.values()
        for one in islice(inner, _MOST):
            if type(one) is CoroutineType:
                yield one
