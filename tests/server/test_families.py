from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.config import FAMILIES, Config, FrontConfig
from halflap.core.errors import ConfigError
from halflap.gateway import Gateway
from halflap.server import app

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any


def test_the_configuration_knows_every_family_and_no_other() -> None:
    assert set(FAMILIES) == set(app.FAMILIES)


def test_clients_see_the_families_that_are_configured(
    run: Callable[[Coroutine[Any, Any, Any]], Any],
) -> None:
    async def names(config: Config) -> list[str]:
        return list(app.Front(Gateway(config))._tools)

    every, core, dspy, gepa = (
        run(names(Config(server=FrontConfig(families=families))))
        for families in ((), ("core",), ("dspy",), ("gepa",))
    )
    assert "search_tools" in core
    assert all(name.startswith("dspy_") for name in dspy)
    assert all(name.startswith("gepa_") for name in gepa)
    assert every == [*core, *dspy, *gepa]


def test_a_family_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        ConfigError, match=r"server.families\[0\]` must be core, dspy or gepa\. Did you mean 'core'"
    ):
        Config.from_mapping({"server": {"families": ["cor"]}})
