"""Which log this is: known by what is in it, however it is called and wherever it lies."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.backfill.found import BadLine
from halflap.backfill.opening import damage, open_log
from halflap.backfill.sources import HEAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.backfill.rules import Rules

__all__ = ["ORIGIN", "Identified", "Known", "Mark", "forgotten", "head_of", "identify", "place_of"]

ORIGIN = "backfill:"
_CHUNK = 1 << 20
_CLOSING = 64


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a log was counted, and what it was up to there."""

    bytes: int
    lines: int
    hash: str
    """Of everything up to there, unpacked."""
    head: str
    """Of the first bytes, to find it by."""
    place: str = ""
    """Stands for where the file lay, to notice that it changed."""
    server: str = ""
    """Whose the tools were said to be that it names without a server, if results of such were counted."""
    without: frozenset[tuple[str, str]] = frozenset()
    """What of it is not counted, as in `Rules.missing`: left out, since nobody knew whose it was, or forgotten."""
    bad: BadLine | None = None
    """The first line that could not be read."""

    def to_text(self) -> str:
        return json.dumps({**asdict(self), "without": sorted(self.without)}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Mark | None:
        try:
            data: Any = json.loads(text)
            bad = data.get("bad")
            return cls(
                int(data["bytes"]),
                int(data["lines"]),
                str(data["hash"]),
                str(data["head"]),
                str(data["place"]),
                str(data.get("server", "")),
                frozenset((str(server), str(tool)) for server, tool in data.get("without", ())),
                None if bad is None else BadLine(int(bad[0]), str(bad[1])),
            )
        except (ValueError, TypeError, LookupError, AttributeError):
            return None

    def rules_for(self, rules: Rules) -> Rules:
        """Give the rules by which it is read on: whose its tools are was said once, and holds."""
        missing = self.without - self.left(rules)
        return replace(rules, server=rules.server or self.server or None, missing=missing)

    def left(self, rules: Rules) -> frozenset[tuple[str, str]]:
        """Give what is not counted of it even when it is read again by these rules."""
        return frozenset(one for one in self.without if not one[0] and not (rules.server or self.server))

    def forgetting(self, server: str, tool: str = "") -> Mark:
        """Note that what it told of a server, or of one of its tools, is to be counted when it is read again."""
        gone = {(server, tool)}
        if self.server == server:
            gone.add(("", tool))
        covered = {(owner, "") for owner, name in gone if not name}
        kept = {one for one in self.without | gone if one in covered or (one[0], "") not in covered}
        # Whose they are is open again.
        return replace(self, without=frozenset(kept), server="" if ("", "") in gone else self.server)


def head_of(beginning: bytes, length: int) -> str:
    """Give what a log of so many bytes is found by."""
    return sha256(beginning[: min(length, HEAD)]).hexdigest()


def place_of(path: str, salt: bytes) -> str:
    """Give what stands for a place; where it is, it does not say."""
    return sha256(salt + path.encode(errors="surrogatepass")).hexdigest()[:16]


def forgotten(origin: str, text: str, server: str | None, tool: str | None) -> str | None:
    """Give a watermark after something was forgotten that logs told: of a tool, of a server or all; None if it goes."""
    mark = Mark.from_text(text) if origin.startswith(ORIGIN) else None
    if mark is None:
        return text
    return None if server is None else mark.forgetting(server, tool or "").to_text()


class Known:
    """The logs that were counted before, in this run or an earlier one."""

    def __init__(self, watermarks: Mapping[str, str]) -> None:
        self._marks: dict[str, Mark] = {}
        self._texts: dict[str, str] = {}
        self._by_head: dict[tuple[int, str], set[str]] = defaultdict(set)
        self._lengths: set[int] = set()
        self._places: set[str] = set()
        for origin, text in watermarks.items():
            mark = Mark.from_text(text) if origin.startswith(ORIGIN) else None
            if mark is not None:
                self.put(origin, mark)
                self._texts[origin] = text

    def put(self, origin: str, mark: Mark) -> None:
        """Take note of how far a log is counted now."""
        before = self._marks.get(origin)
        if before is not None:
            self._by_head[min(before.bytes, HEAD), before.head].discard(origin)
        self._marks[origin] = mark
        self._texts[origin] = mark.to_text()
        self._by_head[min(mark.bytes, HEAD), mark.head].add(origin)
        self._lengths.add(min(mark.bytes, HEAD))
        self._places.add(mark.place)

    def candidates(self, head: bytes) -> dict[int, dict[str, str]]:
        """Give what may be the beginning of a log that begins so: by length, the origin of each hash."""
        found: dict[int, dict[str, str]] = {}
        for length in self._lengths:
            if length > len(head):
                continue
            for origin in self._by_head.get((length, head_of(head, length)), ()):
                mark = self._marks[origin]
                found.setdefault(mark.bytes, {})[mark.hash] = origin
        return found

    def mark(self, origin: str) -> Mark:
        return self._marks[origin]

    @property
    def marks(self) -> Mapping[str, Mark]:
        """How far each of them is counted."""
        return self._marks

    def text(self, origin: str) -> str | None:
        """Give how far a log is counted, as it is written; None if it is not known."""
        return self._texts.get(origin)

    def unseen(self, watermarks: Mapping[str, str]) -> dict[str, Mark]:
        """Give the logs that somebody else has begun to count since."""
        new = {
            origin: Mark.from_text(text)
            for origin, text in watermarks.items()
            if origin.startswith(ORIGIN) and origin not in self._marks
        }
        return {origin: mark for origin, mark in new.items() if mark is not None}

    def has_place(self, place: str) -> bool:
        """Say whether something that lay there was counted."""
        return place in self._places

    def fresh(self, digest: str) -> str:
        """Give an origin that nothing was counted under yet."""
        name = f"{ORIGIN}{digest[:32]}"
        number = 1
        while name in self._marks:
            number += 1
            name = f"{ORIGIN}{digest[:32]}-{number}"
        return name


@dataclass(frozen=True, slots=True)
class Identified:
    """What a log is found to begin with, and the state of its hash up to there."""

    origin: str | None
    sha: Any
    is_whole: bool = False
    """Whether there is nothing behind that."""


def identify(path: str, candidates: Mapping[int, Mapping[str, str]]) -> Identified:
    """Find the longest of the candidates that a file begins with."""
    found = Identified(None, sha256())
    if not candidates:
        return found
    sha, position = sha256(), 0
    with open_log(path) as file:
        for length in sorted(candidates):
            while position < length:
                try:
                    chunk = file.read(min(_CHUNK, length - position))
                except damage():
                    return found
                if not chunk:
                    return found
                sha.update(chunk)
                position += len(chunk)
            origin = candidates[length].get(sha.hexdigest())
            if origin is not None:
                found = Identified(origin, sha.copy())
        if found.origin is not None and found.sha.digest() == sha.digest():
            with contextlib.suppress(*damage()):
                # Behind the last item of an array there is nothing but the end of the array.
                rest = file.read(_CLOSING)
                return replace(found, is_whole=len(rest) < _CLOSING and not rest.strip(b" \t\r\n]"))
    return found
