"""Rules about output schemas, results and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from halflap.core.text import plural, visible
from halflap.lint.drafts import drafted_schema
from halflap.lint.rule import Limits, Problem, Rule
from halflap.schema import try_compile

if TYPE_CHECKING:
    from halflap.lint.server import LintServer, LintTool
    from halflap.schema import Type


def _no_output_schema(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        if tool.tool.output_schema is None:
            yield Problem(
                tool,
                "",
                f"{tool.shown} does not declare what it returns.",
                f"Add an `outputSchema` to {tool.shown}. {_draft_hint(tool)}",
            )


def _empty_output_schema(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        declared = tool.tool.output_schema
        if declared is not None and (tool.output_type is None or _is_open(tool.output_type)):
            yield Problem(
                tool,
                "output",
                f"The output schema of {tool.shown} names no fields.",
                f"List the fields of {tool.shown} under `properties`. {_draft_hint(tool)}",
            )


def _is_open(kind: Type) -> bool:
    """Return whether a type allows anything; a lone `result` is the wrapper that libraries add."""
    if kind.kind == "object":
        fields = {one.name: one.type for one in kind.fields}
        return (not fields and (kind.extra is None or _is_open(kind.extra))) or (
            list(fields) == ["result"] and _is_open(fields["result"])
        )
    if kind.kind == "array":
        return kind.items is None or _is_open(kind.items)
    members = [one for one in kind.members if one.kind != "null"]
    return kind.kind == "any" or (bool(members) and all(_is_open(one) for one in members))


def _draft_hint(tool: LintTool) -> str:
    draft = drafted_schema(tool)
    if draft is None:
        return "Call it through Halflap or run `halflap backfill` on its logs, then `halflap lint --suggest` drafts one."
    results = plural(tool.evidence.observations, "result")
    return f"`halflap lint --suggest` drafts one from {results} (confidence {tool.evidence.confidence:.2f})."


def _results_break_schema(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for breach in tool.evidence.breaches:
            where = visible(breach.path, 120)
            expected = visible(breach.expected, 120)
            times = plural(breach.times, "result")
            yield Problem(
                tool,
                f"output.{where}" if where else "output",
                f"{times} of {tool.shown} did not match its output schema: {where or 'the result'} should be {expected}.",
                f"Return what {tool.shown} declares, or correct the schema; `halflap schema show` has the learned one.",
            )


def _invalid_schema(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for key, side in (("inputSchema", "input"), ("outputSchema", "output")):
            schema: Any = tool.tool.input_schema if side == "input" else tool.tool.output_schema
            if schema is None:
                continue
            compiled = try_compile(schema)
            if isinstance(compiled, str):
                fix = f"Correct the `{key}` of {tool.shown}: it must be valid JSON Schema."
                yield Problem(
                    tool, side, f"The `{key}` of {tool.shown} is invalid: {visible(compiled, 160)}", fix
                )
            elif side == "input" and isinstance(schema, dict) and schema.get("type", "object") != "object":
                yield Problem(
                    tool,
                    side,
                    f"The `inputSchema` of {tool.shown} does not describe an object.",
                    f'Set `"type": "object"` in the `inputSchema` of {tool.shown}; clients refuse anything else.',
                )


def _error_as_text(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for text in tool.evidence.unmarked_errors[:1]:
            yield Problem(
                tool,
                "",
                f"{tool.shown} reported an error as an ordinary result: “{visible(text, 160)}”.",
                f"Set `isError: true` on such results of {tool.shown}, or declare an `error` field and return it.",
            )


def _errors_not_declared(server: LintServer, _: Limits) -> Iterator[Problem]:
    """Tools with a success flag in their results should say what an error looks like."""
    for tool in server.tools:
        fields = {one.keys[0]: one for one in tool.declared_outputs if len(one.keys) == 1}
        flag = next((fields[name] for name in ("success", "ok") if name in fields), None)
        errors = [one for name, one in fields.items() if name in {"error", "errors"}]
        if flag is None or (errors and _says_what(tool, errors[0].name)):
            continue
        message = f"{tool.shown} returns `{flag.name}`, but its schema does not say what an error looks like."
        fix = f"Declare `error` in the output schema of {tool.shown} with a `code` (an enum) and a `message`."
        yield Problem(tool, "output", message, fix)


def _says_what(tool: LintTool, error: str) -> bool:
    """Return whether an error field is a string or has fields inside."""
    own = [one for one in tool.declared_outputs if one.keys[0] == error]
    return len(own) > 1 or bool(own[0].types - {"object", "array"})


def _envelope_in_part(server: LintServer, _: Limits) -> Iterator[Problem]:
    known = [tool for tool in server.tools if tool.outputs]
    enveloped = [tool for tool in known if _has_envelope(tool)]
    bare = [tool for tool in known if not _has_envelope(tool)]
    if not enveloped or not bare:
        return
    odd, usual = (bare, enveloped) if len(enveloped) >= len(bare) else (enveloped, bare)
    for tool in odd:
        inside = "directly" if odd is bare else "inside `success` and `data`"
        yield Problem(
            tool,
            "output",
            f"{tool.shown} returns its data {inside}, unlike {len(usual)} of {len(known)} tools of this server.",
            f"Return results of {tool.shown} in the same form as {usual[0].shown}.",
        )


def _has_envelope(tool: LintTool) -> bool:
    return {"success", "data"} <= {one.keys[0] for one in tool.outputs}


RULES = (
    Rule("no-output-schema", "warning", _no_output_schema, weight=3),
    Rule("empty-output-schema", "warning", _empty_output_schema, weight=2.5),
    Rule("results-break-schema", "error", _results_break_schema, needs="results"),
    Rule("invalid-schema", "error", _invalid_schema),
    Rule("error-as-text", "warning", _error_as_text, needs="results"),
    Rule("errors-not-declared", "warning", _errors_not_declared),
    Rule("envelope-in-part", "warning", _envelope_in_part, needs="outputs"),
)
