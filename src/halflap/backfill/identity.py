"""Which log this is: known by what is in it, however it is called and wherever it lies."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill.found import BadLine, Counted
from halflap.backfill.opening import damage, open_log
from halflap.backfill.sources import HEAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.backfill.rules import Rules

__all__ = ["ORIGIN", "Identified", "Known", "Mark", "forgotten", "head_of", "identify", "place_of"]

ORIGIN = "backfill:"
_CHUNK = 1 << 20
_CLOSING = 64
_MOST_ENDS = 1_000
"""So many of the places are remembered that a log ended at before it went on, the last ones."""


class End(NamedTuple):
    """Where a log ended once, before it went on."""

    bytes: int
    lines: int
    hash: str


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
    ends: tuple[End, ...] = ()
    """Where it ended before: what ends there is a shorter copy, and counted as well."""

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
                tuple(End(int(size), int(lines), str(of)) for size, lines, of in data.get("ends", ())),
            )
        except (ValueError, TypeError, LookupError, AttributeError):
            return None

    @property
    def former_ends(self) -> tuple[End, ...]:
        """Where it ended before, when it goes on from here."""
        here = End(self.bytes, self.lines, self.hash)
        return (*self.ends, here)[-_MOST_ENDS:] if self.bytes else self.ends

    def at(self, counted: Counted, length: int) -> Mark:
        """Give what it was when it ended there; whatever is missing of it, whoever goes on from it counts."""
        if not counted.is_former:
            return self
        bad = self.bad if self.bad is not None and self.bad.line <= counted.lines else None
        return replace(self, bytes=length, lines=counted.lines, without=frozenset(), bad=bad)

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


Candidates = dict[int, dict[str, Counted]]


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
            for head in _heads(before):
                self._by_head[head].discard(origin)
        self._marks[origin] = mark
        self._texts[origin] = mark.to_text()
        for head in _heads(mark):
            self._by_head[head].add(origin)
            self._lengths.add(head[0])
        self._places.add(mark.place)

    def candidates(self, head: bytes) -> Candidates:
        """Give what may be the beginning of a log that begins so: by length, what each hash stands for."""
        found: dict[int, dict[str, Counted]] = {}
        origins: set[str] = set()
        for length in self._lengths:
            if length <= len(head):
                origins |= self._by_head.get((length, head_of(head, length)), set())
        for origin in origins:
            mark = self._marks[origin]
            for end in mark.ends:
                found.setdefault(end.bytes, {}).setdefault(end.hash, Counted(origin, end.lines, True))
            found.setdefault(mark.bytes, {})[mark.hash] = Counted(origin, mark.lines)
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


def _heads(mark: Mark) -> set[tuple[int, str]]:
    """Give what a log is found by, and shorter copies of it: how long its beginning is, and the hash of that."""
    short = {(end.bytes, end.hash) for end in mark.ends if end.bytes <= HEAD}
    return {(min(mark.bytes, HEAD), mark.head), *short}


@dataclass(frozen=True, slots=True)
class Identified:
    """What a log is found to begin with, how far that goes, and the state of its hash up to there."""

    counted: Counted | None
    sha: Any
    length: int = 0
    is_whole: bool = False
    """Whether there is nothing behind that."""


def identify(path: str, candidates: Candidates) -> Identified:
    """Find the longest of the candidates that a file begins with, or that it is."""
    nothing = Identified(None, sha256())
    if not candidates:
        return nothing
    matches, total, tail = _matches(path, candidates)
    goes_on, found = nothing, nothing
    for one in matches:
        # Behind the last item of an array there is nothing but the end of the array.
        rest = total - one.length
        one = replace(one, is_whole=rest < _CLOSING and not tail[len(tail) - rest :].strip(b" \t\r\n]"))  # noqa: PLW2901 -- the same, and more known of it
        if one.counted is not None and not one.counted.is_former:
            goes_on = one
        if one.is_whole:
            found = one if found.counted is None or found.counted.is_former else found
    return found if found.is_whole and not goes_on.is_whole else goes_on


def _matches(path: str, candidates: Candidates) -> tuple[list[Identified], int, bytes]:
    """Give all that a file begins with, the shorter first, how far it was read, and the last bytes of that."""
    found: list[Identified] = []
    sha, position, tail = sha256(), 0, b""
    with open_log(path) as file, contextlib.suppress(*damage()):
        for length in sorted(candidates):
            while position < length:
                chunk = file.read(min(_CHUNK, length - position))
                if not chunk:
                    return found, position, tail
                sha.update(chunk)
                position += len(chunk)
                tail = (tail + chunk)[-_CLOSING:]
            counted = candidates[length].get(sha.hexdigest())
            if counted is not None:
                found.append(Identified(counted, sha.copy(), length))
        rest = file.read(_CLOSING)
        return found, position + len(rest), (tail + rest)[-_CLOSING:]
    # What is damaged goes on, whatever it is.
    return found, position + _CLOSING, tail
