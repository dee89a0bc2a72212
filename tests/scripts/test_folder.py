from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from halflap.core.errors import ScriptError, UsageError
from halflap.scripts import Folder, read_file

if TYPE_CHECKING:
    from pathlib import Path

CODE = "def main(a: int) -> int:\n    return a\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "data" / "scripts")


def put(folder: Folder, name: str, code: str | bytes = CODE) -> Path:
    folder.path.mkdir(parents=True, exist_ok=True)
    file = folder.path / name
    file.write_bytes(code if isinstance(code, bytes) else code.encode())
    return file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_is_saved_is_private_whole_and_found_again(folder: Folder) -> None:
    before = os.umask(0)
    try:
        saved = folder.save("double", CODE)
    finally:
        os.umask(before)
    assert folder.read().scripts == {"double": saved}
    assert (mode(folder.path), mode(folder.path / "double.py")) == (0o700, 0o600)
    assert [file.name for file in folder.path.iterdir()] == ["double.py"]


@pytest.mark.parametrize("name", ["", "..", "../x", "A", "1a", "a-b", "a\n", "a" * 65, "ä", "a\0", "/etc/x"])
def test_a_name_that_is_none_is_refused_and_nothing_is_written(folder: Folder, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a script"):
        folder.save(name, CODE)
    assert not folder.path.exists()


def test_a_script_is_replaced_only_if_that_is_asked_for(folder: Folder) -> None:
    folder.save("a", CODE)
    with pytest.raises(UsageError, match="--force"):
        folder.save("a", "print(1)")
    assert folder.read().scripts["a"].code == CODE
    folder.save("a", "print(1)", force=True)
    assert folder.read().scripts["a"].code == "print(1)"


@pytest.mark.parametrize("code", ["x = (", "def main(*a): ...", "#" * 262_145])
def test_what_is_no_script_is_not_saved(folder: Folder, code: str) -> None:
    with pytest.raises(ScriptError):
        folder.save("a", code)
    assert not folder.path.exists()


def test_saving_over_a_link_replaces_the_link_and_not_what_it_leads_to(
    folder: Folder, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    folder.path.mkdir(parents=True)
    (folder.path / "a.py").symlink_to(target)
    with pytest.raises(UsageError, match="--force"):
        folder.save("a", CODE)
    folder.save("a", CODE, force=True)
    assert target.read_text() == "precious"
    assert folder.read().scripts["a"].code == CODE


def test_a_folder_that_cannot_be_written_to_is_an_error(folder: Folder) -> None:
    folder.path.parent.mkdir(parents=True)
    folder.path.write_text("a file")
    with pytest.raises(ScriptError, match="cannot be written"):
        folder.save("a", CODE)


def test_nothing_is_read_again_that_has_not_changed(folder: Folder) -> None:
    folder.save("a", CODE)
    folder.save("b", CODE)
    first = folder.read()
    assert folder.read() is first
    folder.save("b", "print(1)", force=True)
    second = folder.read()
    assert second.scripts["a"] is first.scripts["a"]
    assert second.scripts["b"].code == "print(1)"


def test_what_an_editor_changes_or_removes_is_noticed(folder: Folder) -> None:
    file = put(folder, "a.py")
    assert folder.read().scripts["a"].code == CODE
    file.write_text(CODE.replace("int", "str"))
    assert "str" in folder.read().scripts["a"].code
    file.unlink()
    assert not folder.read().scripts


def test_broken_scripts_are_listed_with_a_reason_and_hide_no_other(folder: Folder, tmp_path: Path) -> None:
    put(folder, "good.py")
    put(folder, "syntax.py", "x = (")
    put(folder, "bytes.py", b"a = 1\nb = '\xff'")
    put(folder, "huge.py", b"#" * 300_000)
    put(folder, "Bad-Name.py")
    put(folder, "notes.txt", "no script")
    put(folder, ".hidden.py", "no script")
    put(folder, "secret.py").unlink()
    (folder.path / "secret.py").symlink_to("/etc/passwd")
    (folder.path / "dangling.py").symlink_to(tmp_path / "nowhere")
    (folder.path / "folder.py").mkdir()
    os.mkfifo(folder.path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder.path / "socket.py"))
    shelf = folder.read()
    assert list(shelf.scripts) == ["good"]
    reasons = {
        "syntax": "line 1: it is not Python",
        "bytes": "line 2: it is not UTF-8",
        "huge": "larger than 262,144 bytes",
        "Bad-Name": "cannot be the name",
        "secret": "a symbolic link",
        "dangling": "a symbolic link",
        "folder": "not a plain file",
        "pipe": "not a plain file",
        "socket": "cannot be read",
    }
    assert shelf.broken.keys() == reasons.keys()
    assert all(reasons[name] in shelf.broken[name] for name in reasons)


def test_a_file_name_that_is_no_text_is_reported(folder: Folder) -> None:
    folder.path.mkdir(parents=True)
    (folder.path / os.fsdecode(b"\xff\xfe.py")).write_text(CODE)
    assert "cannot be the name" in next(iter(folder.read().broken.values()))


def test_a_folder_of_very_many_files_is_read_up_to_a_limit(folder: Folder) -> None:
    for number in range(1_003):
        put(folder, f"s{number:04}.py", "1")
    shelf = folder.read()
    assert len(shelf.scripts) == 1_000
    assert sorted(shelf.broken) == ["s1000", "s1001", "s1002"]


def test_a_byte_order_mark_is_no_part_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert read_file(tmp_path / "a.py") == "x = 1\n"


def test_a_link_is_followed_only_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "link.py").symlink_to("a.py")
    with pytest.raises(ScriptError, match="symbolic link"):
        read_file(tmp_path / "link.py")
    assert read_file(tmp_path / "link.py", follow=True) == "x"
