"""docs/clients.md."""

from __future__ import annotations

import pytest

from halflap.cli.app import _loaded
from halflap.clients.places import CLIENTS
from support import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text()


@pytest.mark.parametrize("command", ["init", "install"])
def test_every_option_of_the_commands_is_there(command: str) -> None:
    options = {name for one in _loaded(command).params for name in (*one.opts, *one.secondary_opts)}
    long = {name for name in options if name.startswith("--")} - {"--help"}
    assert {name for name in long if f"`{name}" not in PAGE and f" {name} " not in PAGE} == set()


def test_every_client_is_there() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    for client in CLIENTS.values():
        assert any(line.startswith(f"| {client.label} |") for line in rows)
        assert f"`{client.slug}`" in PAGE
