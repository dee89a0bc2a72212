"""Analysis jobs: each client may have a few at a time."""

from __future__ import annotations

import asyncio

import pytest

from halflap.core.errors import HalflapError
from halflap.workflows.examples import example_nets
from halflap.workflows.run.process import MAX_PER_CLIENT, Jobs
from support import PATIENCE

ASKED = {"workflow": example_nets()["order"], "reference_patterns": []}


@pytest.mark.slow
async def test_a_client_with_too_many_jobs_is_refused_while_another_is_not() -> None:
    jobs = Jobs(PATIENCE)
    running = [asyncio.create_task(jobs.run("score", ASKED, "eve")) for _ in range(MAX_PER_CLIENT)]
    await asyncio.sleep(0)
    with pytest.raises(HalflapError, match="running for you"):
        await jobs.run("score", ASKED, "eve")
    other = asyncio.create_task(jobs.run("score", ASKED, "bob"))
    answers = await asyncio.gather(*running, other)
    assert {answer["total_score"] for answer in answers} == {answers[0]["total_score"]}
    # What has ended no longer counts.
    assert await jobs.run("score", ASKED, "eve") == answers[0]
