"""Which tools return something of a name: the names of all places, by the words in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.words import words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Named"]


class Named:
    """The last names of places, each with the tools that have such a place."""

    def __init__(self) -> None:
        self._tools: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        """The names that have a word."""

    def enter(self, tool: str, names: Iterable[str]) -> None:
        """Note what the places of a tool are called."""
        for name in {*names}:
            known = self._tools.get(name)
            if known is not None:
                known.add(tool)
                continue
            self._tools[name] = {tool}
            for word in words_of(name):
                self._names.setdefault(word, set()).add(name)

    def leave(self, tool: str, names: Iterable[str]) -> None:
        """Take out what was noted of a tool."""
        for name in {*names}:
            known = self._tools[name]
            known.discard(tool)
            if known:
                continue
            del self._tools[name]
            for word in {*words_of(name)}:
                self._names[word].discard(name)
                if not self._names[word]:
                    del self._names[word]

    def sharing(self, words: Iterable[str]) -> Iterator[tuple[str, Collection[str]]]:
        """Give the names that have any of these words, each with the tools that have such a place."""
        names = {name for word in {*words} for name in self._names.get(word, ())}
        yield from ((name, self._tools[name]) for name in sorted(names))

    def tools(self, name: str) -> Collection[str]:
        """Give the tools that have a place of this name, as it is written."""
        return self._tools.get(name, ())

    @property
    def all(self) -> Collection[str]:
        """All names that there are."""
        return self._tools.keys()
