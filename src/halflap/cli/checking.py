"""`halflap run --check-only`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from halflap.cli.output import harmless, note, print_json
from halflap.cli.progress import working
from halflap.cli.setting import opened
from halflap.core.values import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.config import Config
    from halflap.sandbox import Checked, Finding

__all__ = ["check_only"]


def check_only(config: Config, what: str, code: str | None, *, as_json: bool) -> bool:
    """Say what is wrong with a program, or with the script of that name, and whether nothing is."""
    checked = asyncio.run(_checked(config, what, code))
    if as_json:
        print_json(
            {
                "ok": checked.ok and checked.skipped is None,
                "mistakes": [_as_json(one) for one in checked.mistakes],
                "doubts": [_as_json(one) for one in checked.doubts],
                "skipped": checked.skipped,
            }
        )
    elif checked.skipped is not None:
        note(f"The program could not be checked: {checked.skipped}.")
    else:
        _show("mistake", checked.mistakes)
        _show("doubt", checked.doubts)
        note(_summary(checked))
    return checked.ok and checked.skipped is None


def _as_json(finding: Finding) -> dict[str, Any]:
    return {"code": finding.code, **asdict(finding)}


async def _checked(config: Config, what: str, code: str | None) -> Checked:
    async with opened(config) as gateway:
        if code is None:
            code = (await gateway.scripts.find(what.removeprefix(f"{SCRIPTS}__"))).code
        with working("Checking"):
            return await gateway.check(code)


def _show(word: str, findings: Sequence[Finding]) -> None:
    for one in findings:
        sys.stdout.write(harmless(f"{word}: {one}") + "\n")
    sys.stdout.flush()


def _summary(checked: Checked) -> str:
    if not checked.mistakes and not checked.doubts:
        return "Nothing found."
    found = [
        f"{len(some)} {word}{'' if len(some) == 1 else 's'}"
        for word, some in (("mistake", checked.mistakes), ("doubt", checked.doubts))
        if some
    ]
    after = "It would not be run." if checked.mistakes else "It would be run; doubts are told if it fails."
    return f"{' and '.join(found)}. {after}"
