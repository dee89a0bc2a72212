"""Rules about the form of definitions and results: schemas that hold, errors that programs see, one envelope for all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.lint.rule import Example, Found, Limits, Rule
from halflap.lint.sample import TEXT, example, field, record, tool
from halflap.lint.server import Seen
from halflap.schema import try_compile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Server

__all__ = ["RULES", "tells_of_failure"]

_LONGEST = 160
_DESCRIBED = re.compile(
    r"\breturns? (?:an? )?error (?:message|string|text)s?\b|\bor (?:a string with )?(?:an? )?error (?:message|string|text)\b|"
    r"\berrors? (?:is|are) returned as (?:a )?(?:text|string)s?\b",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    # A mark before it, an emoji or a bracket, is part of many a server's style.
    r"[^\w'\"]{0,8}(?:"
    r"(?:\w+ ?)?(?:error|exception|failure)\s*(?:[:!(\]-]|\d|$|occurred|while\b|when\b|(?:call|connect|creat|delet|execut|fetch|gett|load|pars|process|read|retriev|runn|search|updat|writ)ing\b)|failed(?: to\b| with\b|\s*[:!])|"
    r"traceback \(most recent call last\)|an? (?:\w+ )?error (?:occurred|has occurred)|unable to\b|could(?: not|n't)\b|"
    r"can(?:not|'t)\b|invalid (?:input|arguments?|parameters?|request)\b|(?:permission|access) denied\b|unauthorized\b|"
    r"(?:request |operation )?timed out\b)",
    re.IGNORECASE,
)
_LONGEST_FAILURE = 2_000
"""A failure is told in a few lines; what is longer is a result that has such words in it."""


def tells_of_failure(text: str) -> bool:
    """Say whether a result's text tells that the call failed: it begins so, and is short."""
    return len(text) <= _LONGEST_FAILURE and _FAILURE.match(text) is not None


def _error_as_text(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        fix = (
            f"Let {one.shown} set `isError: true` on results that tell of a failure; or return `success: false` with an `error` that has "
            "a code, and declare it."
        )
        if one.seen.failures:
            yield Found(
                one.name,
                "",
                f"{one.shown} told of a failure in a result that is not marked as one: "
                f"“{visible(one.seen.failures[0], _LONGEST)}”.",
                fix,
            )
        elif (found := _DESCRIBED.search(one.tool.description[:20_000])) is not None:
            yield Found(
                one.name,
                "",
                f"{one.shown} is described to tell errors as text: “{visible(found[0], _LONGEST)}”.",
                fix,
            )


def _envelope_in_part(server: Server, _: Limits) -> Iterator[Found]:
    known = [one for one in server.entries if one.knows_fields]
    having = [one for one in known if one.ports.envelope is not None]
    lacking = [one for one in known if one.ports.envelope is None]
    if not having or not lacking:
        return
    if len(having) >= len(lacking):
        for one in lacking:
            yield Found(
                one.name,
                "output",
                f"{one.shown} returns its data bare; {len(having)} of {len(known)} tools, such as {having[0].shown}, return them "
                "within `success` and `data`.",
                f"Let {one.shown} return `{{success, data, metadata, error}}` like {having[0].shown}.",
            )
        return
    for one in having:
        yield Found(
            one.name,
            "output",
            f"{one.shown} returns its data within `success` and `data`; {len(lacking)} of {len(known)} tools, such as "
            f"{lacking[0].shown}, return them bare.",
            f"Let {one.shown} return its data bare like {lacking[0].shown}, or let all others use the envelope.",
        )


def _invalid_schema(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        for key, schema in (("inputSchema", one.tool.input_schema), ("outputSchema", one.tool.output_schema)):
            if schema is None:
                continue
            compiled = try_compile(schema)
            if isinstance(compiled, str):
                yield Found(
                    one.name,
                    "input" if key == "inputSchema" else "output",
                    f"The `{key}` of {one.shown} cannot be used: {visible(compiled, _LONGEST)}",
                    f"Correct the `{key}` of {one.shown}: it has to be JSON Schema 2020-12, or of the draft that its `$schema` names.",
                )
            elif key == "inputSchema" and _may_be_object(schema.get("type")):
                yield Found(
                    one.name,
                    "input",
                    f"The type of the `inputSchema` of {one.shown} is a list.",
                    f'Set `"type": "object"` in the `inputSchema` of {one.shown}: the protocol has no other, and clients refuse the '
                    "tool.",
                    {"type": "object"},
                )
            elif key == "inputSchema" and schema.get("type", "object") != "object":
                yield Found(
                    one.name,
                    "input",
                    f"The `inputSchema` of {one.shown} is not that of an object.",
                    f'Set `"type": "object"` in the `inputSchema` of {one.shown}, and name its parameters under `properties`.',
                )
            elif key == "inputSchema" and "type" not in schema:
                yield Found(
                    one.name,
                    "input",
                    f'The `inputSchema` of {one.shown} has no `"type": "object"`.',
                    f'Add `"type": "object"` to the `inputSchema` of {one.shown}: the protocol asks for it, and clients refuse the tool '
                    "without.",
                    {"type": "object"},
                )


def _may_be_object(kind: object) -> bool:
    """Say whether a type is a list that has `object` in it: arguments are an object whatever else it allows."""
    return isinstance(kind, list) and "object" in kind


_ID = record("order_id", order_id=TEXT)
_BARE = record(order_id=TEXT)
_WRAPPED = record(
    "success",
    success=field("boolean", "Whether it worked."),
    data=_BARE,
    error=field("string", "What went wrong."),
)

RULES = (
    Rule(
        "invalid-schema",
        "error",
        "A schema is not valid JSON Schema, or an input schema is not that of an object.",
        "Nothing can be checked against it, and clients refuse the tool, some of them the whole server.",
        "Correct it.",
        _invalid_schema,
        bad=example(
            {
                "name": "get_order",
                "description": "Get it.",
                "inputSchema": {"type": "object", "properties": {"order_id": {"type": "text"}}},
            }
        ),
        good=example(tool("get_order", _ID)),
    ),
    Rule(
        "error-as-text",
        "warning",
        "A tool tells of errors in a text, as if it were a result.",
        "Programs take the text for data and go on with it; only `isError`, or a field that says so, can be branched on.",
        "Set `isError: true`, or return `success: false` with an `error` that has a code.",
        _error_as_text,
        bad=Example(
            (tool("get_order", _ID),),
            {"get_order": Seen(calls=2, failures=("Error: no such order",))},
            "a result said “Error: no such order”, with `isError` false",
        ),
        good=Example(
            (tool("get_order", _ID),), {"get_order": Seen(calls=2)}, "its failures were marked with `isError`"
        ),
        needs="results",
    ),
    Rule(
        "envelope-in-part",
        "warning",
        "Some tools of a server return `{success, data}`, and others return their data bare.",
        "What is learned from one tool is wrong for the next: `data` is missing here, or in the way there.",
        "Use the envelope in all tools, or in none.",
        _envelope_in_part,
        bad=example(tool("get_order", _ID, _WRAPPED), tool("get_invoice", _ID, _BARE)),
        good=example(tool("get_order", _ID, _WRAPPED), tool("get_invoice", _ID, _WRAPPED)),
        needs="outputs",
    ),
)
