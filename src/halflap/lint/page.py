"""The page of the linter, `docs/lint.md`, made from the rules: `python -m halflap.lint.page docs/lint.md` writes it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.lint.parts import IGNORE
from halflap.lint.rules import RULES
from halflap.lint.score import SHARES, most_for_results, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.rule import Example, Rule

__all__ = ["page"]

_LONGEST_TEXT = 200
_NEEDS = {
    "definitions": "the definitions alone",
    "outputs": "what is known of results: declared, or learned",
    "results": "results that are on record",
}


def page() -> str:
    """Write the page."""
    return "\n".join(
        [*_HEAD, *_table(), *_SCORE, *_weights(), *_TAIL, *(line for rule in RULES for line in _rule(rule))]
    )


def _table() -> Iterator[str]:
    yield "| rule | severity | what is wrong |"
    yield "|---|---|---|"
    for rule in RULES:
        yield f"| [`{rule.id}`](#{rule.id}) | {rule.severity} | {rule.title} |"
    yield ""


def _weights() -> Iterator[str]:
    yield "| severity | the first finding of a rule takes |"
    yield "|---|---|"
    for severity, share in SHARES.items():
        yield f"| {severity} | {share:.0%} |"
    yield ""
    yield "These rules weigh more or less than others of their severity; the first finding takes:"
    yield ""
    yield "| rule | takes |"
    yield "|---|---|"
    for rule in RULES:
        if rule.weight != 1:
            yield f"| `{rule.id}` | {share_of(rule.severity, rule.weight):.1%} |"
    yield ""


def _rule(rule: Rule) -> Iterator[str]:
    yield f"### {rule.id}"
    yield ""
    yield f"*{rule.severity}; judged by {_NEEDS[rule.needs]}.* {rule.title}"
    yield ""
    yield f"**Why.** {rule.why}"
    yield ""
    yield f"**What to do.** {rule.fix}"
    yield ""
    yield from _example("Found in", rule.bad)
    yield from _example("Not in", rule.good)


def _example(word: str, example: Example) -> Iterator[str]:
    note = f", where {example.note}" if example.note else ""
    yield f"{word}{note}:"
    yield ""
    yield "```json"
    lines = [json.dumps(_short(one), ensure_ascii=False) for one in example.tools]
    yield ",\n ".join([f"[{lines[0]}", *lines[1:]]) + "]"
    yield "```"
    yield ""


def _short(value: Any) -> Any:
    """Shorten long texts: that a description is too long need not be shown at its whole length."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}… ({len(value.encode()):,} bytes)"
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value


_HEAD = (
    "# The linter",
    "",
    "<!-- Made from the rules: python -m halflap.lint.page docs/lint.md -->",
    "",
    (
        "`halflap lint` says what keeps the tools of a server from being composed, and how to mend it, for each finding with the "
        "tool, the place, and the text or the schema to put there."
    ),
    "",
    "    halflap lint                      # all configured servers, as they are now",
    "    halflap lint shop                 # one of them",
    "    halflap lint --file tools.json    # definitions in a file, with no server running",
    "    halflap lint --suggest            # drafts of the output schemas that are missing",
    "",
    (
        'A file has a list of tools, `{"tools": […]}`, an answer to `tools/list`, or `{"<server>": {"tools": […]}}` for several '
        "servers; `-` is standard input."
    ),
    "",
    "| option | |",
    "|---|---|",
    "| `--file`, `-f` | Definitions in a file, instead of live servers. Servers that are named are looked for in it. |",
    (
        "| `--suggest` | For each tool that declares nothing of its results, what was learned of them: as Python types and as JSON "
        "Schema, with how many results it rests on and how sure it is. Where nothing was learned, how to learn it. |"
    ),
    "| `--all`, `-a` | Every finding, each with its fix; else three of each rule. |",
    "| `--show-ignored` | Also what is ignored, by whom and why. |",
    (
        "| `--fail-on` | From which severity on a finding makes the exit code 1: `error`, `warning`, `info` or `never`. Instead of "
        "`lint.fail_on`. |"
    ),
    "| `--json` | Everything as data, see below. |",
    "",
    (
        "The exit code is 0 if there is no finding that counts, 1 if there is one or a server could not be asked, and 2 if it was asked "
        "wrongly or there was nothing to look at, no server or no tool: so it can stand in CI."
    ),
    "",
    (
        "Of live servers, what is on record is used: results that broke a declaration, failures told as text, and what was "
        "[learned](learning.md) of results that nothing declares. What could not be judged, for want of that, is said."
    ),
    "",
    'From Python it is `await gateway.lint(["shop"])`: its `report` has what is shown here.',
    "",
    "## Rules",
    "",
)
_MOST_OF_RESULTS = most_for_results({rule.id: share_of(rule.severity, rule.weight) for rule in RULES})
_SCORE = (
    "## The score",
    "",
    (
        "A tool starts with 100. Each rule that found something in it takes a share of what is left; the second finding of the same "
        "rule takes half as much as the first, the third a quarter, and so on. A server's score is the mean of its tools'. What is ignored "
        "costs nothing. A finding less never lowers a score."
    ),
    "",
    (
        "What is found in the fields of results (at `output.…`) counts by itself, and takes the less the more of it there is: where "
        "the rules would leave a share *s* of the score, it takes *h* / (1 + *h* / "
        f"{_MOST_OF_RESULTS:g}), with *h* = ln(1 / *s*). That is always less than {_MOST_OF_RESULTS:.0%}, and so than it costs to declare nothing; "
        "and whatever is mended raises the score. A schema that is empty, not valid, or broken "
        "by results is spared nothing."
    ),
    "",
)
_TAIL = (
    (
        "What a fix is worth is worked out by taking the finding away and scoring again: for each finding (`gain`, of the tool and of "
        "the server), and for all findings of a rule in a server (`fixes`, the best first). It is worth up to that: a schema that is "
        "declared anew is looked at, too, and may have findings of its own."
    ),
    "",
    "## Other severities, and what is ignored",
    "",
    (
        "The section [`lint`](configuration.md#lint) of the configuration turns rules off, changes severities and limits, and has findings "
        "ignored, by rule and tool, each with a reason. A rule that there is not is an error there."
    ),
    "",
    (
        f"The author of a server does it in place, with `{IGNORE}`: in the tool's `_meta` for all of the tool, or in the schema of a field "
        "for that and what is in it. A reason is required: without one, nothing is ignored, and that is a finding."
    ),
    "",
    "```json",
    json.dumps(
        {
            "name": "translate",
            "description": "Translate a text.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "amount": {
                        "type": "number",
                        "description": "How much to shorten it.",
                        IGNORE: {"number-without-unit": "It is a strength, not money."},
                    }
                },
            },
            "_meta": {IGNORE: {"no-output-schema": "It returns prose."}},
        },
        indent=1,
    ),
    "```",
    "",
    "## As data",
    "",
    '`--json` gives `{"servers": […], "unavailable": {server: reason}}`. A server has:',
    "",
    "| field | |",
    "|---|---|",
    "| `server`, `score` | Its name and its score, from 0 to 100; null without tools. |",
    "| `counts` | How many findings of each severity count. |",
    "| `tools` | Each tool's `name` in the catalogue, its `originalName` at its server, and its `score`. |",
    (
        "| `findings` | Each with `rule`, `severity`, `tool` and its `originalName`, `path`, `message`, `fix`, `gain` (`tool`, "
        "`server`), and `patch`, where that is known. `path` is `input` or `output` for a schema, `input.…` or `output.…` for the schema of "
        "a field in it (`['…']` for a name of other characters, `[]` for a list's items, `{}` for a map's values), and empty for the tool's "
        "definition; `patch` is a JSON merge patch (RFC 7386) of what is there. Each patch by itself, and all of them, raise the score or "
        "leave it as it is. Of two tools of one name, the second has a `tool` with a suffix. |"
    ),
    "| `ignored` | The same without `gain`, with `ignoredBy` (`author` or `configuration`) and `reason`. |",
    "| `fixes` | For each rule, `severity`, `findings`, `tools`, and `gain`: by how much the server's score would rise at most. |",
    "| `unjudged` | `rules` that could not judge so many `tools` `of` all, `why`, and what to `do` about it. |",
    "",
    (
        'With `--suggest` it is `{"suggestions": […]}`, each with `server`, `tool`, `originalName`, `observations`, `confidence`, and '
        "either `patch`, `python` and `wrapped` (the results are no objects, and go under `result`), or `why` there is none. Results that told "
        "of an error as text are left out of a draft where no other result was a text; `leftOut` says so, and `observations` counts the "
        "others. Keys that look like data are not kept when results are learned from: `unnamed` has the objects with such keys, whose values "
        "are under `additionalProperties`."
    ),
    "",
    "## Every rule",
    "",
)


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 -- the file alone
        sys.exit("Say where to write the page: python -m halflap.lint.page docs/lint.md")
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
