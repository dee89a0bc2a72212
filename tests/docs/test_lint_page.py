"""docs/lint.md."""

from __future__ import annotations

from halflap.cli.app import _loaded
from halflap.lint.rules_page import page
from support import ROOT

PAGE = (ROOT / "docs" / "lint.md").read_text()


def test_the_page_is_generated_from_the_rules() -> None:
    assert page() == PAGE, "run python -m halflap.lint.rules_page docs/lint.md"


def test_every_option_is_explained() -> None:
    options = {name for one in _loaded("lint").params for name in one.opts if name.startswith("--")}
    everywhere = {"--config", "--verbose", "--help", "--install-completion", "--show-completion"}
    assert {name for name in options - everywhere if f"`{name}`" not in PAGE} == set()
