"""Links, the index, the README and the licence."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest
import yaml

from halflap.clients.places import CLIENTS
from halflap.config import Config
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def prose(path: Path) -> str:
    """Return a page without its code, which may look like links."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^    .*$", "", text, flags=re.MULTILINE))


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub makes for a page's headings."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_within_the_project_leads_somewhere(document: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose(document)):
        if "://" in target:
            continue
        place = document.parent / target if target else document
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place), f"{target}#{anchor}"


def test_every_page_of_the_docs_is_named_in_their_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"({name})" in index, name


def test_the_readme_names_the_two_commands_that_the_makefile_has() -> None:
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command}" in readme
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_configuration_in_the_readme_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "secret")
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert text is not None
    assert [server.name for server in Config.from_mapping(yaml.safe_load(text[1])).servers] == [
        "time",
        "search",
    ]


def test_every_command_of_the_readme_exists() -> None:
    from halflap.cli.app import COMMANDS  # noqa: PLC0415 -- the command line is what is looked at

    named = set(re.findall(r"(?<!from )\bhalflap (\w+)", (ROOT / "README.md").read_text()))
    assert named
    assert named <= set(COMMANDS)


def test_every_client_has_its_row() -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    assert [one.slug for one in CLIENTS.values() if f"| {one.label} | `{one.slug}` |" not in page] == []


def test_every_file_of_the_walks_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    walks = page.partition("## Walk 1")[2].partition("## The packages")[0]
    cells = [line.split("|")[2] for line in walks.splitlines() if line.startswith("| ")]
    named = [name for cell in cells for name in re.findall(r"`([\w/]+)`", cell)]
    assert len(named) > 40
    assert [name for name in named if not (ROOT / "src" / "halflap" / f"{name}.py").is_file()] == []


def test_every_dependency_has_its_row_in_the_architecture() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    rows = (ROOT / "docs" / "architecture.md").read_text()
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["postgres"]]:
        name = re.split(r"[\[<>=]", requirement)[0]
        assert re.search(rf"^\| .*\b{re.escape(name)}\b", rows, re.MULTILINE), name
