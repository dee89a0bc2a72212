"""Folders of files that are offered as tools: private, written atomically, and untrusted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from halflap.core.errors import ScriptError, UsageError
from halflap.core.folder import ToolFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Texts(ToolFolder[str]):
    suffix = ".txt"
    most_bytes = 1_000

    def parse(self, name: str, data: bytes) -> str:
        if data == b"bad":
            raise ScriptError("line 1: it is bad.")
        return f"{name}: {data.decode()}"


@pytest.fixture
def folder(tmp_path: Path) -> Texts:
    return Texts(tmp_path / "data" / "texts")


def test_what_is_written_is_private_and_found_again(folder: Texts) -> None:
    before = os.umask(0)
    try:
        saved = folder.write("one", b"1")
    finally:
        os.umask(before)
    assert folder.read().valid == {"one": saved}
    modes = [path.lstat().st_mode & 0o777 for path in (folder.path, folder.file("one"))]
    assert modes == [0o700, 0o600]
    assert [file.name for file in folder.path.iterdir()] == ["one.txt"]


@pytest.mark.parametrize("name", ["", "../x", "A", "a-b", "a\n", "a" * 65, "a\0"])
def test_an_invalid_name_is_refused_and_nothing_is_written(folder: Texts, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a name"):
        folder.write(name, b"1")
    assert not folder.path.exists()


def test_a_file_or_link_is_replaced_only_with_force(folder: Texts, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    folder.write("one", b"1")
    folder.file("link").symlink_to(target)
    for name in ("one", "link"):
        with pytest.raises(UsageError, match="--force"):
            folder.write(name, b"2")
        folder.write(name, b"2", force=True)
        assert folder.read().valid[name] == f"{name}: 2"
    assert target.read_text() == "precious"


def test_every_change_is_noticed_and_nothing_else(folder: Texts) -> None:
    folder.write("one", b"1")
    first = folder.read()
    (folder.path / "notes").write_text("x")
    (folder.path / ".hidden.txt").write_text("x")
    assert folder.read() is first
    folder.write("one", b"2", force=True)
    assert folder.read().valid == {"one": "one: 2"}
    folder.file("one").write_bytes(b"bad")
    assert folder.read().broken == {"one": "line 1: it is bad."}
    folder.remove("one")
    assert folder.read().broken == {}
    assert Texts(folder.path / "nowhere").read().problem


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _large(path: Path) -> None:
    path.write_bytes(b"x" * 2_000)


@pytest.mark.parametrize("make", [_link, os.mkfifo, os.mkdir, _large])
def test_links_special_and_large_files_are_not_read_and_hide_no_other(
    folder: Texts, make: Callable[[Path], None]
) -> None:
    for name in ("a", "z"):
        folder.write(name, b"1")
    make(folder.file("odd"))
    (folder.path / "\udcff.txt").write_text("1")
    saved = folder.read()
    assert list(saved.valid) == ["a", "z"]
    assert saved.broken["odd"].startswith("it cannot be read: ")
    assert all(name.isprintable() for name in saved.broken)
