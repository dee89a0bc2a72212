"""How many mistakes the check finds before a run, that it refuses no correct program, and what it takes.

Three claims. Of the programs in `tests/sandbox/check`, all of them correct, none is refused. Of the mistakes planted in
them (`tests/acceptance/figures_mistakes.json`), 95 % are found before anything is called. And with a catalogue of more
than 527 tools, a program that was never seen is checked in at most 1.2 times what a bare run of ty on the same text
takes, one that was in 2 ms (the middle one of all programs). That is with processes waiting; a program right after
another, for which they have to be started first, is timed as well. `make bench` runs this with the others.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from ty import find_ty_bin  # noqa: E402 -- after the path is set

from acceptance.figures_check import corpus_tools, correct_programs, planted_mistakes  # noqa: E402
from halflap.catalog import Snapshot, namespaced  # noqa: E402
from halflap.core.values import Tool  # noqa: E402
from halflap.sandbox.check.checker import Checker  # noqa: E402
from halflap.sandbox.check.process import Examiner  # noqa: E402
from halflap.sandbox.functions import names_in  # noqa: E402
from halflap.schema import parse_schema  # noqa: E402
from halflap.schema.stub import make_stub, write_stubs  # noqa: E402
from sandbox.check.checkup import TOOLS  # noqa: E402
from sandbox.check.world import programs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHARED = Path(os.environ.get("HALFLAP_SHARED", ROOT.parent / "shared"))
MAX_RATIO = 1.2
MAX_KEPT_MS = 2.0
MIN_FOUND = 0.95
MADE_UP = 527
PAUSE_SECONDS = 0.15


def main() -> int:
    return asyncio.run(measure({**corpus_tools(), **{one.name: one for one in TOOLS}}))


async def measure(tools: Mapping[str, Tool]) -> int:
    checker = checker_over(tools)
    try:
        refused = await mistaken(checker, correct_programs())
        print(f"correct programs: {len(correct_programs())}, refused: {len(refused)}")
        planted = planted_mistakes()
        share = len(await mistaken(checker, planted)) / len(planted)
        print(f"planted mistakes: {len(planted)}, found: {share:.3f} (at least {MIN_FOUND})")
    finally:
        await checker.close()
    return 0 if not refused and share >= MIN_FOUND and await timed(tools) else 1


def checker_over(tools: Mapping[str, Tool]) -> Checker:
    seen: Any = SimpleNamespace(snapshot=Snapshot(tools=dict(tools)), configured=())

    async def settle() -> None:
        """Wait for nothing."""

    return Checker(Examiner(), seen_by=lambda _: seen, settle=settle, is_breached=lambda _: False)


async def mistaken(checker: Checker, codes: Sequence[str]) -> list[str]:
    return [code for code in codes if (await checker.check(code)).mistakes]


async def timed(tools: Mapping[str, Tool]) -> bool:
    all_tools = {**filling(), **tools}
    order = [one.code for one in programs()]
    random.Random(1).shuffle(order)
    checker = checker_over(all_tools)
    fresh, kept, bare, queued = [], [], [], []
    try:
        await checker.ready()
        for code in order:
            # A bare run while the next pair warms up would be slowed down by it.
            await asyncio.sleep(PAUSE_SECONDS)
            fresh.append(await milliseconds(checker, code))
            kept.append(await milliseconds(checker, code))
            queued.append(await milliseconds(checker, f"{code}\n# once more"))
            await asyncio.sleep(PAUSE_SECONDS)
            bare.append(await asyncio.to_thread(bare_run, code, all_tools))
    finally:
        await checker.close()
    middle = statistics.median
    ratio = middle(fresh) / middle(bare)
    print(f"\nover {len(all_tools)} tools, the middle of {len(order)} programs (and the slowest tenth):")
    for name, times in (
        ("never seen", fresh), ("right after another", queued), ("bare ty", bare), ("seen before", kept),
    ):  # fmt: skip
        print(f"  {name:20} {middle(times):6.2f} ms ({statistics.quantiles(times, n=10)[-1]:.1f})")
    print(f"never seen / bare ty: {ratio:.2f} (at most {MAX_RATIO:g})")
    print(f"right after another / bare ty: {middle(queued) / middle(bare):.2f}")
    return ratio <= MAX_RATIO and middle(kept) <= MAX_KEPT_MS


async def milliseconds(checker: Checker, code: str) -> float:
    began = time.perf_counter()
    await checker.check(code)
    return (time.perf_counter() - began) * 1000


def bare_run(code: str, tools: Mapping[str, Tool]) -> float:
    """Run ty on the program and the same stubs, as anyone would."""
    named = [make_stub(parse_schema(tools[name])) for name in sorted(names_in(code) & tools.keys())]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "__builtins__.pyi").write_text(write_stubs(named), encoding="utf-8")
        Path(folder, "program.py").write_text(code, encoding="utf-8")
        command = [find_ty_bin(), "check", "--output-format", "gitlab", "--exit-zero", "program.py"]
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return (time.perf_counter() - began) * 1000


def filling() -> dict[str, Tool]:
    """Return real tools where the shared data is, else made-up ones."""
    path = SHARED / "data" / "live_tools.json"
    servers: dict[str, Any] = json.loads(path.read_text()) if path.exists() else made_up()
    listed = [
        Tool(
            namespaced(server, one["name"]),
            server,
            one["name"],
            one.get("description") or "",
            one["inputSchema"],
        )
        for server, entry in servers.items()
        for one in entry["tools"]
    ]
    return {one.name: one for one in listed}


def made_up() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    tools = [{"name": f"tool_{number}", "inputSchema": schema} for number in range(MADE_UP)]
    return {"made_up": {"tools": tools}}


if __name__ == "__main__":
    sys.exit(main())
