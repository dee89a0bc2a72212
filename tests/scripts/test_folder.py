"""The folder of saved scripts: private, whole, and untrusted."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from halflap.core.errors import ScriptError, UsageError
from halflap.scripts import ScriptFolder

if TYPE_CHECKING:
    from pathlib import Path

CODE = "def main(a: int) -> int:\n    return a\n"


@pytest.fixture
def folder(tmp_path: Path) -> ScriptFolder:
    return ScriptFolder(tmp_path / "data" / "scripts")


def put(folder: ScriptFolder, name: str, code: str | bytes = CODE) -> Path:
    folder.path.mkdir(parents=True, exist_ok=True)
    file = folder.path / name
    file.write_bytes(code if isinstance(code, bytes) else code.encode())
    return file


def test_what_is_saved_is_private_and_found_again(folder: ScriptFolder) -> None:
    before = os.umask(0)
    try:
        saved = folder.save("double", CODE)
    finally:
        os.umask(before)
    assert folder.read().scripts == {"double": saved}
    modes = [path.lstat().st_mode & 0o777 for path in (folder.path, folder.path / "double.py")]
    assert modes == [0o700, 0o600]
    assert [file.name for file in folder.path.iterdir()] == ["double.py"]


@pytest.mark.parametrize("name", ["", "../x", "A", "1a", "a-b", "a\n", "a" * 65, "ä", "a\0", "/etc/x"])
def test_an_invalid_name_is_refused_and_nothing_is_written(folder: ScriptFolder, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a script"):
        folder.save(name, CODE)
    assert not folder.path.exists()


@pytest.mark.parametrize("code", ["x = (", "def main(*a): ...", "#" * 262_145])
def test_what_is_no_script_is_not_saved(folder: ScriptFolder, code: str) -> None:
    with pytest.raises(ScriptError):
        folder.save("a", code)
    assert not folder.path.exists()


def test_a_script_or_link_is_replaced_only_with_force(folder: ScriptFolder, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    folder.path.mkdir(parents=True)
    (folder.path / "link.py").symlink_to(target)
    folder.save("a", CODE)
    for name in ("a", "link"):
        with pytest.raises(UsageError, match="--force"):
            folder.save(name, "print(1)")
        folder.save(name, "print(1)", force=True)
        assert folder.read().scripts[name].code == "print(1)"
    assert target.read_text() == "precious"


def test_changes_are_noticed_and_unchanged_scripts_are_not_parsed_again(folder: ScriptFolder) -> None:
    file, other = put(folder, "a.py"), put(folder, "b.py")
    first = folder.read()
    assert folder.read() is first
    file.write_text(CODE.replace("int", "str"))
    second = folder.read()
    assert "str" in second.scripts["a"].code
    assert second.scripts["b"] is first.scripts["b"]
    other.unlink()
    assert list(folder.read().scripts) == ["a"]


def test_broken_scripts_are_listed_with_a_reason_and_hide_no_other(
    folder: ScriptFolder, tmp_path: Path
) -> None:
    put(folder, "good.py")
    put(folder, "syntax.py", "x = (")
    put(folder, "bytes.py", b"a = 1\nb = '\xff'")
    put(folder, "huge.py", b"#" * 300_000)
    put(folder, "Bad-Name.py")
    put(folder, os.fsdecode(b"\xff\xfe.py"))
    put(folder, "notes.txt", "no script")
    put(folder, ".hidden.py", "no script")
    (folder.path / "secret.py").symlink_to("/etc/passwd")
    (folder.path / "dangling.py").symlink_to(tmp_path / "nowhere")
    (folder.path / "folder.py").mkdir()
    os.mkfifo(folder.path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder.path / "socket.py"))
    saved = folder.read()
    assert list(saved.scripts) == ["good"]
    reasons = {
        "syntax": "line 1: it is not Python",
        "bytes": "line 2: it is not UTF-8",
        "huge": "Larger than 256 KiB",
        "Bad-Name": "cannot be the name",
        os.fsdecode(b"\xff\xfe"): "cannot be the name",
        "secret": "a symbolic link",
        "dangling": "a symbolic link",
        "folder": "Not a file",
        "pipe": "Not a file",
        "socket": "cannot be read",
    }
    assert saved.broken.keys() == reasons.keys()
    assert all(reasons[name] in saved.broken[name] for name in reasons)
