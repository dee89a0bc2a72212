"""Reading and replacing files of other programs."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from halflap.clients.files import back_up, read_file, replace_file
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    dotfiles, link = tmp_path / "dotfiles.json", tmp_path / "link.json"
    dotfiles.write_bytes(b"old")
    dotfiles.chmod(0o640)
    link.symlink_to(dotfiles)
    replace_file(read_file(link), b"new")
    assert link.is_symlink()
    assert dotfiles.read_bytes() == b"new"
    assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.glob("*.json*")) == ["dotfiles.json", "link.json"]
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "busy.json"
    path.write_bytes(b"one")
    before = read_file(path)
    path.write_bytes(b"two")
    with pytest.raises(ClientFileError, match="Nothing was written"):
        replace_file(before, b"ours")
    with pytest.raises(ClientFileError):
        replace_file(before, None)
    assert path.read_bytes() == b"two"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_special_files_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    with pytest.raises(ClientFileError, match=str(path)):
        read_file(path)


def test_backups_are_private_and_never_replace_each_other(tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    path.write_bytes(b"it")
    copies = {back_up(read_file(path), tmp_path / "copies") for _ in range(3)}
    assert len(copies) == 3
    assert all(copy.read_bytes() == b"it" for copy in copies)
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in copies} == {0o600}
    assert all(copy.name.startswith("it.json.20") for copy in copies)
