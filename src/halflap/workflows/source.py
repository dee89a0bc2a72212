"""A workflow as it stands in a file: which text its bytes are, and which JSON, where no key may come twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.core.errors import WorkflowError
from halflap.schema import json_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Doubled", "decoded", "parse_source"]

_MARKS = {b"\xff\xfe\x00\x00": "", b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""How a file begins that says so what it is in; UTF-32 begins like UTF-16, and is not read."""
_ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "iso_8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "windows-1252": "cp1252",
    "cp1252": "cp1252",
}
"""What a file may say that it is in. Python knows many more, and with some of them takes hours for a few megabytes."""
_NAMED = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:\-]{1,40})[\"']")
_READ = "UTF-8, UTF-16 with a byte order mark, ASCII, ISO-8859-1 and windows-1252"


class Doubled(dict[str, Any]):
    """An object of JSON with a key that came more than once; to be told where it stands, it is read on with the last."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.times = {key: count for key, count in Counter(key for key, _ in pairs).items() if count > 1}


def decoded(data: bytes) -> str:
    """Give the text of a file: by its byte order mark, or as its XML declaration says, else UTF-8."""
    mark = next((one for one in _MARKS if data.startswith(one)), None)
    if mark is not None:
        return _as(_MARKS[mark], data, "UTF-32")
    if b"\0" in data[:4]:
        return _as("", data, "UTF-16 or UTF-32 without a byte order mark")
    named = _NAMED.match(data)
    said = "utf-8" if named is None else named[1].decode("ascii", "replace")
    return _as(_ENCODINGS.get(said.lower(), ""), data, said)


def _as(encoding: str, data: bytes, said: str) -> str:
    if not encoding:
        raise _unread(f"It is in {said}, which is not read. Save it as UTF-8; read are {_READ}.")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        at = f", at byte {error.start + 1}" if isinstance(error, UnicodeDecodeError) else ""
        raise _unread(f"It is not {encoding.upper()}{at}. Save it as UTF-8.") from None


def _unread(message: str) -> WorkflowError:
    return WorkflowError([("", message)])


def parse_source(text: str) -> Any:
    """Read JSON; an object with a key that came twice is a `Doubled`."""
    if not text.strip():
        raise _unread("It is empty. A workflow is a JSON object, or YAWL's XML.")
    try:
        return _parse(text)
    except ValueError as error:
        raise _unread(f"It is neither JSON nor XML: {json_problem(error)}.") from None
    except RecursionError:
        raise _unread("It is nested too deeply to be read.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else Doubled(pairs)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


_parse = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant).decode
