from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cli.program import Done, environment, halflap, side_by_side

if TYPE_CHECKING:
    from pathlib import Path

# A Python that runs everything but one of the demo's servers.
BROKEN = """#!/bin/sh
case "$*" in
  *halflap.demo.sales*) echo "the sales are gone" >&2; exit 7;;
  *) exec {python} "$@";;
esac
"""
WITH_ANOTHER_PYTHON = "import sys; sys.executable = sys.argv.pop(1); from halflap.cli import main; main()"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, and a working folder in which somebody has put modules of well-known names."""
    home = tmp_path_factory.mktemp("demo")
    folder = home / "project"
    (folder / "halflap").mkdir(parents=True)
    for name in ("json.py", "mcp_types.py", "anyio.py", "halflap/__init__.py"):
        (folder / name).write_text("import pathlib; pathlib.Path('imported').touch()\n")
    (home / "tmp").mkdir()
    return home


@pytest.fixture(scope="module")
def runs(place: Path) -> dict[str, Done]:
    python = place / "python"
    python.write_text(BROKEN.format(python=sys.executable))
    python.chmod(0o755)

    def broken() -> Done:
        done = subprocess.run(
            [sys.executable, "-c", WITH_ANOTHER_PYTHON, str(python), "demo"],
            capture_output=True,
            text=True,
            env=environment(place),
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    demo = partial(halflap, home=place, cwd=place / "project", TMPDIR=str(place / "tmp"))
    return side_by_side(
        {"shown": partial(demo, "demo"), "json": partial(demo, "demo", "--json"), "broken": broken}
    )


@pytest.fixture(scope="module")
def done(runs: dict[str, Done]) -> Done:
    return runs["shown"]


def test_the_demo_succeeds_quietly(done: Done) -> None:
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "shown",
    [
        "financial_data  1 tool, 1 with an output schema",
        "doc_retrieval   2 tools, 0 with an output schema",
        "sales           6 tools, 6 with an output schema",
        "mcp__financial_data__query_financials",
        "2025-12-31: revenue 6,455,000,000",
        "keys of the first hit: title, content, score, doc_id",
        '- statement: expected one of "income", "balance", "cashflow", received "profits"',
        "Next: name your own servers in a file",
    ],
)
def test_the_demo_shows_the_main_job(done: Done, shown: str) -> None:
    assert shown in done.out


@pytest.mark.usefixtures("done")
def test_the_demo_leaves_nothing_behind(place: Path) -> None:
    assert not (place / "data").exists()
    assert not list((place / "tmp").iterdir())


@pytest.mark.usefixtures("done")
def test_the_demo_imports_nothing_from_the_working_folder(place: Path) -> None:
    assert not (place / "project" / "imported").exists()


def test_the_demo_as_json_has_what_it_showed(runs: dict[str, Done]) -> None:
    assert (runs["json"].code, runs["json"].err) == (0, "")
    assert len(runs["json"].json["tools"]) == 9
    assert [row["period"] for row in runs["json"].json["financials"]] == ["FY2025", "FY2024"]


def test_the_demo_fails_if_a_server_is_broken(runs: dict[str, Done]) -> None:
    done = runs["broken"]
    assert done.code == 1
    assert (
        "Error [demo]: The demo failed: server 'sales' is failed: its process ended with exit code 7."
        in done.err
    )
    assert "the sales are gone" in done.err
    assert "Traceback" not in done.err
