"""docs/backfill.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from typer.main import get_command

from halflap.backfill import Rules, learn_stream
from halflap.backfill.pieces import LOOKED_AT, is_document
from halflap.learn import Learned, digest_of, infer
from halflap.store import ToolKey
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "backfill.md").read_text()
EXAMPLES = re.findall(r"```jsonl?\n(.*?)```", PAGE, re.DOTALL)
TOLD = Learned(structured=infer([{"id": 7, "total": 9.5}], [digest_of({"id": 7})]))


def test_there_is_an_example_of_every_form() -> None:
    assert len(EXAMPLES) == 10


@pytest.mark.parametrize("example", EXAMPLES, ids=[str(number) for number in range(len(EXAMPLES))])
def test_every_example_gives_the_same_observation(example: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(example)
    document = is_document(example.encode().splitlines(keepends=True)[:LOOKED_AT])
    found = learn_stream(str(file), Rules(server="shop"), document=document).found
    assert found.shapes == {ToolKey("shop", "get_order", ""): TOLD}
    assert (found.bad_count, found.other, found.unpaired, found.nameless) == (0, 0, 0, 0)


def test_every_option_is_explained() -> None:
    import typer  # noqa: PLC0415 -- the command line is what is looked at

    from halflap.cli.backfill import backfill  # noqa: PLC0415 -- as above

    app = typer.Typer()
    app.command()(backfill)
    options = {
        name for parameter in get_command(app).params for name in parameter.opts if name.startswith("--")
    }
    assert options - {"--config", "--install-completion", "--show-completion"} <= set(
        re.findall(r"`(--[\w-]+)", PAGE)
    )
