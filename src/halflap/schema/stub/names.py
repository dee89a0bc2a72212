"""Names in stubs: which names from schemas Python can use, and how our own are made."""

from __future__ import annotations

import keyword
import re
import unicodedata

__all__ = ["ClassNames", "TitleNames", "is_name"]

_MAX_NAME = 60
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")


def is_name(text: str) -> bool:
    """Return whether Python takes a text as exactly this name, also within a class.

    Python normalises some letters (`ﬁ` to `fi`) and mangles names that start with two underscores.
    """
    return (
        text.isidentifier()
        and not keyword.iskeyword(text)
        and not text.startswith("__")
        and unicodedata.normalize("NFKC", text) == text
    )


class ClassNames:
    """Makes unique names for the classes of one tool."""

    def __init__(self, tool: str) -> None:
        # No tool's name begins with an underscore, so a class never has the name of a tool.
        self._stem = f"_{tool}__"
        self._made: set[str] = set()

    def make(self, path: str) -> str:
        """Return a name for the class at a path in what the tool takes or gives."""
        words = _SEPARATORS.sub("_", path).strip("_")[:_MAX_NAME]
        name, number = self._stem + words, 2
        while name in self._made:
            name, number = f"{self._stem}{words}_{number}", number + 1
        self._made.add(name)
        return name


class TitleNames(ClassNames):
    """Makes names as the author of a server would: `GetOrderResult`, `GetOrderResultItems`."""

    def __init__(self, title: str) -> None:
        super().__init__("")
        title = _title(title)
        # An identifier has to begin with a letter.
        self._stem = title if title[:1].isalpha() else f"Tool{title}"

    def make(self, path: str) -> str:
        return super().make(_title(path.removeprefix("gives_")))


def _title(text: str) -> str:
    words = _SEPARATORS.sub(" ", text)[:_MAX_NAME].split()
    return "".join(word[:1].upper() + word[1:] for word in words)
