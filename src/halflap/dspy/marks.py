"""Values that notice what is done with them: passed on as they are they stay silent, anything else is on record."""

from __future__ import annotations

import sys
import sysconfig
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pydantic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

    Place = tuple[str, int | None, int | None]
    """A file, and the line and the byte in it."""

__all__ = ["Uses", "caller", "marked"]

_SILENT: Final = frozenset({
    "__class__", "__class_getitem__", "__delattr__", "__dir__", "__doc__", "__getattribute__", "__getnewargs__",
    "__getstate__", "__init__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__", "__sizeof__",
    "__subclasshook__", "__module__", "__dict__", "__weakref__",
})  # fmt: skip
"""What is no use of a value. A copy is another object, so that one shows by itself."""
_WORDS: Final = {
    "__contains__": "looks for something in {}",
    "__hash__": "looks {} up",
    "__len__": "asks how long {} is",
    "__bool__": "asks whether {} is empty or zero",
    "__getitem__": "takes a part of {}",
    "__iter__": "goes through {}",
    "__str__": "writes {} as text",
    "__repr__": "writes {} as text",
    "__format__": "writes {} into a text",
    **dict.fromkeys(
        ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"), "compares {} with something"
    ),
    **dict.fromkeys(("__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__"), "changes {}"),
}


@dataclass(slots=True)
class Uses:
    """What was done with marked values, while somebody listens."""

    listening: bool = False
    found: list[str] = field(default_factory=list)
    functions: dict[CodeType, Any] = field(default_factory=dict)
    """Those that were called with marked values, each with its first argument."""
    ran: set[CodeType] = field(default_factory=set)
    """What of the user's own code was run."""
    _calls: set[Place] = field(default_factory=set)
    _calls_of_c: set[Place] = field(default_factory=set)
    apart: list[str] = field(default_factory=list)
    """What was in force at a step and not around it."""

    @property
    def calls(self) -> set[Place]:
        """Where the user's own code called a step, or more of the user's own code: what that does is noted, too.

        What is written in C may call such code as well, and look at the values besides.
        """
        return self._calls - self._calls_of_c

    def note(self, name: str, method: str) -> None:
        """Note a use by whoever called the method."""
        if not self.listening:
            return
        if method in _WORDS:
            told = _WORDS[method].format(f"`{name}`")
        elif method.startswith("__"):
            told = f"calculates with `{name}`"
        else:
            told = f"uses `{name}.{method}`"
        at = caller(sys._getframe(2))  # noqa: SLF001  # the one way to say where it was
        if at is not None:
            said = f"line {at.f_lineno}: `{at.f_code.co_name}` {told}"
            if said not in self.found:
                self.found.append(said)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen to what is done within, and note the functions that marked values are given to."""

        def called(frame: FrameType, event: str, _: Any) -> None:
            if event == "c_call" and self.listening and is_theirs(frame):
                self._calls_of_c.add(_place(frame))
            if event != "call" or not self.listening:
                return
            theirs = is_theirs(frame)
            if (theirs or _module_of(frame) == "dspy") and frame.f_back is not None:
                self._calls.add(_place(frame.f_back))
            if theirs:
                self.ran.add(frame.f_code)
            if theirs and any(_holds_marked(one) for one in frame.f_locals.values()):
                code = frame.f_code
                first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
                self.functions.setdefault(code, first)

        before = sys.getprofile()
        sys.setprofile(called)
        self.listening = True
        try:
            yield
        finally:
            self.listening = False
            sys.setprofile(before)


def caller(frame: FrameType | None) -> FrameType | None:
    """Give the innermost frame of the user's own; none if the module was not yet run, or has been."""
    while frame is not None and frame.f_globals.get("__name__") != _RUNNER:
        if is_theirs(frame):
            return frame
        frame = frame.f_back
    return None


def is_theirs(frame: FrameType) -> bool:
    """Say whether code is neither ours, nor DSPy's, nor comes with Python."""
    file = frame.f_code.co_filename
    comes_with_python = file.startswith(("<frozen", _LIBRARY)) and "site-packages" not in file
    return not comes_with_python and _module_of(frame) not in _OTHERS


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _place(frame: FrameType) -> Place:
    """Give where the call ends that a frame is in: no two calls end at one place."""
    at = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    return frame.f_code.co_filename, at[1], at[3]


_RUNNER: Final = "halflap.dspy.tracing"
_OTHERS: Final = {"halflap", "dspy", "pydantic"}
_LIBRARY: Final = sysconfig.get_path("stdlib")


def _is_marked(value: Any) -> bool:
    # Looked at without any method of the value's own, which would be on record.
    return type(value) in _MADE or type(value).__name__ == "Prediction"


def _holds_marked(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_is_marked, value.values()))
    return any(map(_is_marked, value)) if type(value) in {list, tuple} else _is_marked(value)


def marked(value: Any, name: str, uses: Uses) -> Any:
    """Give an equal value that notes every use of it; true, false and null cannot, and are given as they are."""
    if isinstance(value, pydantic.BaseModel):
        found = value.model_copy()
        object.__setattr__(found, "__class__", _watching_model(type(value)))
    elif type(value) in _PLAIN:
        kind: Any = type(value)
        found = _watching(kind)(value)
    else:
        return value
    found.__dict__[_MARK] = (name, uses)
    return found


_PLAIN: Final = (str, int, float, list, dict)
_MARK: Final = "halflap mark"
_MADE: set[type] = set()
"""The kinds of all values that are marked."""


@cache
def _watching(kind: Any) -> Any:
    """Make a kind of values that behave as those of another, and note every use."""

    def noting(method: str) -> Any:
        original = getattr(kind, method)

        def noted(self: Any, *arguments: Any, **settings: Any) -> Any:
            # While one is made there is no mark yet.
            mark = self.__dict__.get(_MARK)
            if mark is not None:
                mark[1].note(mark[0], method)
            return original(self, *arguments, **settings)

        return noted

    methods = {
        name: noting(name)
        for name in dir(kind)
        if name not in _SILENT and callable(getattr(kind, name)) and getattr(kind, name) is not None
    }
    if "__bool__" not in methods and kind is not dict:
        methods["__bool__"] = _truth(kind)
    made = type(kind.__name__, (kind,), methods)
    _MADE.add(made)
    return made


def _truth(kind: Any) -> Any:
    def noted(self: Any) -> bool:
        mark = self.__dict__.get(_MARK)
        if mark is not None:
            mark[1].note(mark[0], "__bool__")
        return bool(kind.__len__(self))

    return noted


@cache
def _watching_model(kind: Any) -> Any:
    """Make the same of a pydantic model: reading one of its fields is a use, too."""

    class Watching(kind):  # type: ignore[misc]  # known only when it is run
        def __getattribute__(self, name: str) -> Any:
            mark = object.__getattribute__(self, "__dict__").get(_MARK)
            if mark is not None and not name.startswith("__"):
                mark[1].note(mark[0], name)
            return super().__getattribute__(name)

        def __setattr__(self, name: str, value: Any) -> None:
            mark = object.__getattribute__(self, "__dict__").get(_MARK)
            if mark is not None:
                mark[1].note(mark[0], "__setitem__")
            super().__setattr__(name, value)

    Watching.__name__ = Watching.__qualname__ = kind.__name__
    _MADE.add(Watching)
    return Watching
