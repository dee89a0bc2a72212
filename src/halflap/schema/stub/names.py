"""Names in stubs: which of somebody else's are Python's too, and how ours are made."""

from __future__ import annotations

import keyword
import re
import unicodedata

__all__ = ["Names", "Titles", "is_name"]

_LONGEST = 60
_NO_LETTER = re.compile(r"[^0-9A-Za-z]+")


def is_name(text: str) -> bool:
    """Say whether a text can stand as it is where Python wants a name, in a class, too.

    Python reads some letters as others (`ﬁ` as `fi`), and a name with two underscores before it as one of the
    class that it stands in: such a name would not be the one that is meant.
    """
    return (
        text.isidentifier()
        and not keyword.iskeyword(text)
        and not text.startswith("__")
        and unicodedata.normalize("NFKC", text) == text
    )


class Names:
    """Makes the names of the records of one tool; each is made once."""

    def __init__(self, tool: str) -> None:
        # No tool begins with an underscore, so no record is called like one.
        self._stem = f"_{tool}__"
        self._made: set[str] = set()

    def make(self, path: str) -> str:
        """Name a record after the place that it has in what the tool takes or gives."""
        words = _NO_LETTER.sub("_", path).strip("_")[:_LONGEST]
        name, number = self._stem + words, 2
        while name in self._made:
            name, number = f"{self._stem}{words}_{number}", number + 1
        self._made.add(name)
        return name


class Titles(Names):
    """Makes names as the author of a server would: `GetOrderResult`, `GetOrderResultItems`."""

    def __init__(self, title: str) -> None:
        super().__init__("")
        words = _NO_LETTER.sub(" ", title)[:_LONGEST].split()
        title = "".join(word[:1].upper() + word[1:] for word in words)
        # A name of Python's has to begin with a letter.
        self._stem = title if title[:1].isalpha() else f"Tool{title}"

    def make(self, path: str) -> str:
        """Name a record after its place, the words of it as one."""
        words = _NO_LETTER.sub(" ", path.removeprefix("gives_"))[:_LONGEST].split()
        return super().make("".join(word[:1].upper() + word[1:] for word in words))
