"""Overhead of executing a DSPy program with cached answers, against the bare `program.acall` of the same module.

At the median, an execution takes at most 2 ms more. Bare, the module runs with DSPy's own model and cache; an execution also
validates inputs and outputs, and goes through the child process. Both take turns, for a program of one step and one of three.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import dspy  # noqa: E402

from dspy_programs.chat_server import Asked, chatting  # noqa: E402
from dspy_programs.running import configured, program, running, step  # noqa: E402
from halflap.dspy.child.modules import Program  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from halflap.dspy.library import SavedProgram

ROUNDS = int(os.environ.get("HALFLAP_BENCH_ROUNDS", "300"))
MOST_EXTRA_MS = 2.0
INPUTS = {"question": "Where is it warm in November, and not too far?"}


def programs() -> dict[str, SavedProgram]:
    """Return a program of one step, and one of three."""
    names = ("first", "second", "third")
    fields = ("question", "draft", "review", "reply")
    steps = [
        step(name, "ChainOfThought", inputs=[{"name": taken}], outputs=[{"name": given}])
        for name, taken, given in zip(names, fields, fields[1:], strict=False)
    ]
    return {"one step": program(), "three steps": program("three", predictors=steps)}


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    """Return how long something takes, in milliseconds."""
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def measure(
    bare: Callable[[], Awaitable[Any]], whole: Callable[[], Awaitable[Any]]
) -> tuple[float, float]:
    """Run both by turns; return the medians."""
    for _ in range(20):
        await bare()
        await whole()
    times = [(await timed(bare), await timed(whole)) for _ in range(ROUNDS)]
    return statistics.median(one for one, _ in times), statistics.median(one for _, one in times)


async def main() -> int:
    def answer(asked: Asked) -> dict[str, str]:
        return {name: f"{name}, said at length" for name in asked.wanted}

    holds = True
    with tempfile.TemporaryDirectory() as folder, chatting(answer) as model:
        dspy.configure_cache(disk_cache_dir=str(Path(folder) / "dspy"))
        lm = dspy.LM("openai/tiny", api_base=model.url, api_key="key")
        async with running(configured(model.url), Path(folder)) as ours:
            for label, saved in programs().items():
                module = Program.build(ours.runner.describe(saved))

                async def bare(module: Any = module) -> None:
                    with dspy.context(lm=lm):
                        await module.acall(**INPUTS)

                async def whole(saved: SavedProgram = saved) -> None:
                    await ours.run(saved, INPUTS)

                one, other = await measure(bare, whole)
                assert (await ours.run(saved, INPUTS)).cache_hit
                holds = holds and other - one < MOST_EXTRA_MS
                print(
                    f"  {label:<12} bare {one:6.2f} ms   executed {other:6.2f} ms   {other / one:4.2f} times   "
                    f"{other - one:+5.2f} ms, under {MOST_EXTRA_MS:g} ms"
                )
        await lm.aclose()
    return 0 if holds else 1


if __name__ == "__main__":
    print("A DSPy program with cached answers:")
    sys.exit(asyncio.run(main()))
