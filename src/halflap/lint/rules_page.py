"""Write docs/lint.md from the rules: `python -m halflap.lint.rules_page docs/lint.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from halflap.lint.ignores import RULES
from halflap.lint.report import SHARES, share_of
from halflap.lint.rule import rule_texts

_NEEDS = {
    "definitions": "the definition",
    "outputs": "known result fields (declared or learned)",
    "results": "recorded results",
}


def page() -> str:
    """Return the page."""
    template = files("halflap.lint").joinpath("page.md").read_text("utf-8")
    parts = {"rules": _table(), "weights": _weights(), "details": _details()}
    for name, lines in parts.items():
        template = template.replace(f"{{{{{name}}}}}", "\n".join(lines))
    return template


def _table() -> Iterator[str]:
    yield "| rule | severity | problem |"
    yield "|---|---|---|"
    for rule in RULES:
        yield f"| [`{rule.id}`](#{rule.id}) | {rule.severity} | {rule.title} |"


def _weights() -> Iterator[str]:
    shares = ", ".join(f"{severity} {share:.0%}" for severity, share in SHARES.items())
    heavy = ", ".join(
        f"`{rule.id}` {share_of(rule.severity, rule.weight):.0%}" for rule in RULES if rule.weight != 1
    )
    yield f"The first finding of a rule takes: {shares}; {heavy}."


def _details() -> Iterator[str]:
    for rule in RULES:
        texts = rule_texts()[rule.id]
        yield f"### {rule.id}"
        yield ""
        yield f"*{rule.severity}; needs {_NEEDS[rule.needs]}.* {texts['title']} {texts['why']}"
        yield ""
        yield f"**Fix.** {texts['fix']}"
        yield ""
        note = f" ({texts['note']})" if "note" in texts else ""
        yield f"Found in{note}:"
        yield ""
        yield from _json(texts["bad"])
        if texts["good"] != texts["bad"]:
            yield ""
            yield "Not in:"
            yield ""
            yield from _json(texts["good"])
        yield ""


def _json(tools: list[dict[str, Any]]) -> Iterator[str]:
    yield "```json"
    yield "[" + ",\n ".join(json.dumps(one, ensure_ascii=False) for one in tools) + "]"
    yield "```"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
