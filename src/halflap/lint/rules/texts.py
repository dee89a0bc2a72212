"""Rules about what is described: tools, parameters, fields, and values that only a text lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import visible
from halflap.lint.plain_texts import plain_values
from halflap.lint.rule import Found, Limits, Rule, counted
from halflap.lint.sample import TEXT, example, field, listed, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Server

__all__ = ["RULES"]

_LISTED = re.compile(
    r"(?:\bone of|\bvalid [\w ]{1,30}|\ballowed [\w ]{0,30}|\bpossible values|\bmust be|\bcan be|\beither|\bchoices|\boptions)"
    r"(?: are| is)?\s*[:\uff1a(]?\s*(?P<list>(?:['\"`][\w.+/-]{1,30}['\"`](?:\s*(?:\([^()]{0,60}\))?\s*(?:,|/|\||;|\bor\b|\band\b)?\s*)){2,50})",
    re.IGNORECASE,
)
_EACH = re.compile(r"\(\s*['\"`]([\w.+/-]{1,30})['\"`]\s*\)")
_VALUE = r"[\w+][\w.+-]{0,29}(?<!\.)"
_NEXT_VALUE = rf"(?:\s*[,|/;]\s*(?:or\s+|and\s+)?|\s+or\s+){_VALUE}"
_BARE = re.compile(
    # Words without quotes are values where nothing but a list of them can stand.
    rf"\b(?:one of|(?:possible|allowed|valid|accepted) values(?: are)?|choices|options)(?P<colon>\s*[:\uff1a])?\s+"
    rf"(?P<list>{_VALUE}(?:{_NEXT_VALUE}){{1,40}})\s*(?:[.;()\n]|$)",
    re.IGNORECASE,
)
_BARS = re.compile(rf"[(\[:]\s*(?P<list>{_VALUE}(?:\s*\|\s*{_VALUE}){{1,40}})\s*(?:[)\].]|$)")
_BETWEEN = re.compile(r"\s*[,|/;]\s*(?:(?:or|and)\s+)?|\s+or\s+", re.IGNORECASE)
_KINDS = frozenset(
    [
        "string",
        "str",
        "int",
        "integer",
        "float",
        "number",
        "bool",
        "boolean",
        "null",
        "none",
        "array",
        "list",
        "object",
        "dict",
        "undefined",
    ]
)
"""What a value may be, rather than which."""
_QUOTED = re.compile(r"['\"`]([\w.+/-]{1,30})['\"`]")
_EXAMPLES = re.compile(
    r"e\.?g\.|for example|such as|for instance|例如|比如|\betc\b|\.\.\.|…|like ['\"`]", re.IGNORECASE
)
_OPEN = re.compile(
    r"\bany (?:other|valid|string|text|url|number|name)\b|\bothers? (?:\w+ )?(?:is|are|may|can)\b"
    r"|\b(?:custom|other|additional|further|arbitrary) (?:values?|names?|strings?|ones?|types?|formats?|options)\b|\bamong others\b"
    r"|\b(?:options|values|choices) includ(?:e|ing)\b|\bas well as\b|\bcan also be\b|\bfree[- ]?(?:form|text)\b",
    re.IGNORECASE,
)
"""By these, a text says that there are other values."""
_SEVERAL = re.compile(
    r"\b(?:at least one|one or more)\b|\bmultiple\b|\bseveral\b|\bany (?:of|combination)\b|\bcombin(?:e|ed|ation)"
    r"|\b(?:comma|space|pipe|semicolon)[- ](?:separated|delimited)|\bseparated by\b",
    re.IGNORECASE,
)
"""By these, that several are written into one text."""
_NEGATED = re.compile(
    r"(?:\b(?:not|never|no|none|neither|cannot|except|excluding|excludes?|other than|rather than|instead of|anything but|unless|avoid"
    r"|without|forbidden|reserved)\b|n['\u2019]t\b)[^.;:!?]*$",
    re.IGNORECASE,
)
"""Before a list, these make it one of what a value is not."""
_GOES_ON = re.compile(
    r"\s*(?:\([^()]{0,60}\))?\s*[,/|;(]?\s*(?:or|and|plus)\b(?!\s+(?:defaults?|is|are|it|if|when|the default|null|left|omitted|omit)\b)",
    re.IGNORECASE,
)
"""Behind a list, these lead to what else a value may be."""
_FEWEST = 2
_SUCCESS = frozenset({"success", "ok"})
_LONGEST_READ = 1_000


def _no_description(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        if not one.tool.description.strip():
            yield Found(
                one.name,
                "",
                f"{one.shown} has no description.",
                f"Add `description` to {one.shown}: what it does, when to use it, and what it returns, in a sentence or two.",
            )


def _description_too_long(server: Server, limits: Limits) -> Iterator[Found]:
    for one in server.entries:
        size = len(one.tool.description.encode(errors="replace"))
        if size > limits.description_bytes:
            yield Found(
                one.name,
                "",
                f"The description of {one.shown} has {size:,} bytes; {limits.description_bytes:,} are enough.",
                f"Shorten the description of {one.shown} by {counted(size - limits.description_bytes, 'byte')}: leave what it does and when "
                "to use it, put what is said of a parameter into that parameter's `description`, and the rest into a resource.",
            )


def _parameter_without_description(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        for part in one.inputs:
            if len(part.path) > 1 or one.is_described(part):
                continue
            yield Found(
                one.name,
                part.where,
                f"{one.shown}: the parameter {part.shown} has no description.",
                f"Add `description` to `inputSchema.properties` → {part.shown} of {one.shown}: what it is, its form, and which "
                "tool gives it, if one does.",
            )


def _field_without_description(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        described = {part.path for part in one.outputs if part.description.strip()}
        # What holds described fields says by them what it is.
        holding = {path[:length] for path in described for length in range(1, len(path) + 1)}
        for part in one.outputs:
            is_constant, is_success = (
                len(part.values) == 1,
                part.name in _SUCCESS and part.kinds == {"boolean"},
            )
            if part.is_seen or part.path in holding or is_constant or is_success:
                continue
            yield Found(
                one.name,
                part.where,
                f"{one.shown}: nothing says what {part.shown} in its result is.",
                f"Add `description` to {part.where} in the `outputSchema` of {one.shown}.",
            )


def _enum_in_prose(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        for part in one.inputs:
            if part.kinds != {"string"} or part.values or part.said.get("pattern"):
                continue
            described = one.description_of(part)
            values = (
                ()
                if not part.is_list and _SEVERAL.search(described[:_LONGEST_READ])
                else _values_in(described)
            )
            default = part.said.get("default")
            given = default if isinstance(default, list) else [default]
            # What is given without being asked has to be among them.
            if values and all(each is None or each in values for each in given):
                shown = visible(", ".join(f'"{value}"' for value in values), 300)
                plain = () if part.said.get("format") else plain_values(part, described)
                listed = f'Add `"enum": [{shown}]` to {part.where} of {one.shown}.'
                unsure = (
                    f"List all that {part.where} of {one.shown} may be under `enum`, if that is so few: its description has {shown}, and "
                    "says more than that."
                )
                yield Found(
                    one.name,
                    part.where,
                    f"{one.shown}: the values of {part.shown} are listed in its description alone.",
                    listed if plain else unsure,
                    part.patched_with(enum=[*plain, *([None] if part.takes_null else [])]) if plain else None,
                )


def _values_in(text: str) -> tuple[str, ...]:
    """Give the values that a text lists as all that there are; not those that it has as examples, or as some of them."""
    # Without long runs of spaces, which the patterns would try to divide in every way.
    text = " ".join(text[:_LONGEST_READ].split())
    if _EXAMPLES.search(text) or _OPEN.search(text):
        return ()
    found = _quoted_values(text) or _values_in_brackets(text) or _bare_values(text)
    if found is None or _NEGATED.search(text[: found.start]) or _GOES_ON.match(text[found.end :]):
        return ()
    return tuple(dict.fromkeys(found.values)) if len(set(found.values)) >= _FEWEST else ()


class _Listed(NamedTuple):
    """A list of values, and where in a text it is, with what leads to it."""

    values: list[str]
    start: int
    end: int


def _quoted_values(text: str) -> _Listed | None:
    found = _LISTED.search(text)
    if found is None:
        return None
    values = list(_QUOTED.finditer(text, found.start("list"), found.end("list")))
    return _Listed([one[1] for one in values], found.start(), values[-1].end())


def _values_in_brackets(text: str) -> _Listed | None:
    values = list(_EACH.finditer(text))
    return _Listed([one[1] for one in values], values[0].start(), values[-1].end()) if values else None


def _bare_values(text: str) -> _Listed | None:
    found = _BARE.search(text) or _BARS.search(text)
    values = _BETWEEN.split(found["list"]) if found else []
    if found is None or _KINDS.issuperset(one.lower() for one in values):
        return None
    return _Listed(values, found.start(), found.end("list"))


_CITY = record("city", city=field("string", "The city, as in `Berlin`."))

RULES = (
    Rule(
        "no-description",
        "warning",
        "A tool has no description.",
        "A model chooses tools by what they say of themselves, and search finds them by it.",
        "Say what the tool does, when to use it and what it returns.",
        _no_description,
        bad=example({**tool("get_weather", _CITY), "description": ""}),
        good=example({**tool("get_weather", _CITY), "description": "The weather in a city now."}),
        weight=2,
    ),
    Rule(
        "description-too-long",
        "warning",
        "A tool's description is longer than 2 KB.",
        "Every tool's description is in every prompt: a long one costs all the time, and what matters drowns in it. Some "
        "clients cut it.",
        "Keep what the tool does and when to use it; put what is said of a parameter there. The limit is "
        "`lint.max_description_bytes`.",
        _description_too_long,
        bad=example({**tool("get_weather", _CITY), "description": "The weather. " * 180}),
        good=example({**tool("get_weather", _CITY), "description": "The weather in a city now."}),
    ),
    Rule(
        "parameter-without-description",
        "warning",
        "A parameter has no description, neither in the schema nor in the tool's description.",
        "A name alone leaves open what form a value has and where to get it.",
        "Add `description` to the parameter's schema.",
        _parameter_without_description,
        bad=example(tool("get_weather", record("city", city=field("string")))),
        good=example(tool("get_weather", _CITY)),
        weight=0.5,
    ),
    Rule(
        "field-without-description",
        "info",
        "A field of a declared result has no description.",
        "Whoever reads the result has to guess from the name what it means, in what unit, and which tool takes it.",
        "Add `description` to the field in the output schema.",
        _field_without_description,
        bad=example(tool("list_cities", None, record(cities=listed(field("string"), "")))),
        good=example(tool("list_cities", None, record(cities=listed(TEXT, "Their names.")))),
    ),
    Rule(
        "enum-in-prose",
        "info",
        "The values that a parameter may have are listed in its description, and not in its schema.",
        "Nobody can check the value before the call, and a model has to read carefully.",
        "List them under `enum`.",
        _enum_in_prose,
        bad=example(tool("list_tasks", record(state=field("string", "One of: 'open', 'done' or 'all'.")))),
        good=example(
            tool("list_tasks", record(state=field("string", "Which ones.", enum=["open", "done", "all"])))
        ),
    ),
)
