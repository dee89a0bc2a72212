from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from catalog.worlds import NO_SERVERS, Clock, catalog, config, definition, listing
from halflap.catalog import Catalog
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NAME = "mcp__s__a"
OTHER = listing("s", definition("a", "Other."))


def test_a_change_is_logged_once(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run(catalog(listing("s", "a"), OTHER, OTHER))
    assert len([one for one in caplog.records if "mcp__s__a" in one.getMessage()]) == 1


async def test_an_accepted_change_is_no_longer_held_and_the_next_one_is() -> None:
    living = await catalog(listing("s", "a"), OTHER, tools={"pin": "hold"})
    assert await living.accept([NAME, "mcp__s__unknown"]) == (NAME,)
    assert living.snapshot.callable == (NAME,)
    assert living.snapshot.changed == {}
    await living.absorb(listing("s", definition("a", "Yet another.")))
    assert living.snapshot.held == {NAME}


async def test_a_definition_that_was_never_seen_is_not_accepted(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    settings = await config("s", tools={"pin": "hold"})
    here, there = (Catalog(settings, store, NO_SERVERS) for _ in range(2))
    await here.absorb(listing("s", "a"))
    await here.absorb(OTHER)
    await there.absorb(listing("s", definition("a", "Evil.")))
    assert await here.accept([NAME]) == ()
    assert here.snapshot.held == {NAME}
    await store.close()


async def test_the_catalogue_continues_in_memory_when_the_store_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = await open_store(None)
    living = Catalog(await config("s"), store, NO_SERVERS)
    await living.absorb(listing("s", "a"))
    await store.close()
    await living.absorb(listing("s", definition("a", "Other."), "b"))
    assert set(living.snapshot.tools) == {NAME, "mcp__s__b"}
    assert living.snapshot.changed == {NAME: ("description",)}
    assert caplog.records


def stale_after(run: Run, **more: Any) -> float:
    """Return the age, in whole seconds, at which a schema is stale."""
    clock = Clock()
    ttl = more.pop("ttl_seconds", None)
    living = run(catalog(listing("s", "a", ttl_seconds=ttl), clock=clock, **more))
    started = clock.now
    for age in (0, 1, 59, 60, 119, 120, 299, 300, 3_599, 3_600):
        clock.now = started + age
        if living.is_stale(living.snapshot.tools[NAME]):
            return age
    return float("inf")


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 3_600),
        ({"ttl": {"per_tool": {"mcp__x__*": 1, "mcp__s__*": 120, NAME: 60}}}, 120),
        # The server's own time counts if it is shorter.
        ({"ttl_seconds": 60}, 60),
        # Many servers send 0 without meaning it; the user's own setting is meant.
        ({"ttl_seconds": 0}, 60),
        ({"ttl_seconds": 0, "ttl": {"schema_seconds": 1}}, 1),
    ],
)
def test_schemas_are_stale_after_their_time(run: Run, settings: dict[str, Any], seconds: float) -> None:
    assert stale_after(run, **settings) == seconds


async def test_the_same_listing_again_is_fresh_and_makes_no_new_snapshot() -> None:
    clock = Clock()
    living = await catalog(listing("s", "a"), clock=clock)
    before = living.snapshot
    clock.now += 3_600
    await living.absorb(listing("s", "a"))
    assert not living.is_stale(before.tools[NAME])
    assert living.snapshot is before
    await living.absorb(listing("s", "a", instructions="Be kind."))
    assert living.snapshot is not before
