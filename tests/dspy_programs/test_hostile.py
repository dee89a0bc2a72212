"""Hostile program folders: nothing in them runs, leads elsewhere or hides the good ones."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.written import STATE, as_bytes, put, state
from halflap.core.errors import HalflapError, ProgramBrokenError
from halflap.dspy.library import Library, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Bomb:
    """Once unpickled, it has written a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self.target)!r}, 'w').close()",)


def read(root: Path) -> Shelf:
    """Read the folder; what would block runs into the test's own timeout."""
    return Library(root).read()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a good program, before and after which others come."""
    folder = tmp_path / "root"
    put(folder, "good")
    put(folder, "a_good_one")
    put(folder, "zz_good_one")
    return folder


def broken(root: Path, name: str = "triage") -> str:
    shelf = read(root)
    assert list(shelf.programs) == ["a_good_one", "good", "zz_good_one"]
    assert list(shelf.broken) == [name]
    with pytest.raises(ProgramBrokenError):
        shelf.find(name)
    return shelf.broken[name]


# Pickles ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["state.pkl", "program.pkl"])
def test_a_pickle_is_never_opened(root: Path, tmp_path: Path, file: str) -> None:
    folder = put(root)
    (folder / "state.json").unlink()
    (folder / file).write_bytes(pickle.dumps(Bomb(tmp_path / "harm")))
    reason = broken(root)
    assert "state.json" in reason
    assert file in reason
    assert not (tmp_path / "harm").exists()


def test_a_whole_program_saved_by_dspy_is_refused(root: Path, tmp_path: Path) -> None:
    folder = root / "triage"
    folder.mkdir()
    (folder / "program.pkl").write_bytes(pickle.dumps(Bomb(tmp_path / "harm")))
    (folder / "metadata.json").write_text("{}")
    assert "program.pkl" in broken(root)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("file", ["manifest.json", "state.json"])
def test_a_pickle_under_another_name_is_refused(root: Path, tmp_path: Path, file: str) -> None:
    (put(root) / file).write_bytes(pickle.dumps(Bomb(tmp_path / "harm")))
    assert broken(root).startswith(f"{file}: this is a pickle")
    assert not (tmp_path / "harm").exists()


def test_other_files_are_not_opened(root: Path) -> None:
    folder = put(root)
    os.mkfifo(folder / "program.pkl")
    (folder / "setup.py").write_text("raise SystemExit('run')")
    (folder / "__init__.py").write_text("raise SystemExit('run')")
    assert "triage" in read(root).programs


# What a state may not say -----------------------------------------------------------------------------

MODEL = {"model": "openai/x", "api_base": "http://elsewhere/", "api_key": "k"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("config", {"api_base": "http://elsewhere/"}),
        ("lm", MODEL),
        ("__class__", "subprocess.Popen"),
        ("forward", "x"),
    ],
)
def test_unknown_state_keys_are_dropped_and_named(root: Path, key: str, value: Any) -> None:
    given = state()
    given["sort.predict"][key] = value
    (put(root) / "state.json").write_bytes(as_bytes(given))
    found = read(root).programs["triage"].state
    assert found.dropped == (f"sort.predict.{key}",)
    assert "elsewhere" not in repr(found.clean)
    assert "elsewhere" not in repr(found.predictors)
    assert set(found.clean["sort.predict"]) == {"demos", "signature", "train", "traces"}


def test_unknown_predictors_are_dropped(root: Path) -> None:
    given = {**state(), "lm": MODEL, "__class__": "x", "other.predict": STATE["reply"]}
    (put(root) / "state.json").write_bytes(as_bytes(given))
    assert read(root).programs["triage"].state.dropped == ("lm", "__class__", "other.predict")


def test_a_demo_keeps_only_values_of_fields(root: Path) -> None:
    given = state()
    given["reply"]["demos"] = [{"message": "m", "lm": MODEL, "base": {"x": 1}, "__class__": "x"}]
    (put(root) / "state.json").write_bytes(as_bytes(given))
    found = read(root).programs["triage"].state
    assert found.clean["reply"]["demos"] == [{"message": "m"}]
    assert found.dropped == ("reply.demos[0].lm", "reply.demos[0].base", "reply.demos[0].__class__")


def test_a_signature_as_text_is_refused(root: Path) -> None:
    given = state()
    given["sort.predict"]["signature"] = "message: os.PathLike -> topic: subprocess.Popen"
    (put(root) / "state.json").write_bytes(as_bytes(given))
    assert "sort.predict: signature" in broken(root)


# Paths that lead out ----------------------------------------------------------------------------------


def test_a_linked_folder_is_not_followed(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside")
    (root / "triage").symlink_to(tmp_path / "outside" / "triage")
    assert "symbolic link" in broken(root)


@pytest.mark.parametrize("file", ["manifest.json", "state.json"])
def test_a_linked_file_is_not_followed(root: Path, tmp_path: Path, file: str) -> None:
    folder = put(root)
    (folder / file).rename(tmp_path / "outside.json")
    (folder / file).symlink_to(tmp_path / "outside.json")
    assert f"{file} is a symbolic link" in broken(root)


def test_a_linked_version_is_not_followed(root: Path, tmp_path: Path) -> None:
    folder = put(root)
    (folder / "versions").mkdir()
    (folder / "versions" / "1.0.0").symlink_to(put(tmp_path / "outside", "triage", version="1.0.0"))
    assert read(root).programs["triage"].versions == ("1.2.0",)


def test_saving_does_not_follow_a_link(root: Path, tmp_path: Path) -> None:
    folder = put(root)
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "versions").symlink_to(outside)
    library = Library(root)
    stored = library.read().find("triage")
    with pytest.raises(ProgramBrokenError, match="symbolic link"):
        library.save(stored.manifest.model_copy(update={"version": "2.0.0"}), stored.state)
    assert list(outside.iterdir()) == []
    assert sorted(one.name for one in root.iterdir()) == ["a_good_one", "good", "triage", "zz_good_one"]


@pytest.mark.parametrize("name", ["../good", "/etc", "", "good\0"])
def test_a_name_with_a_path_is_not_found(root: Path, name: str) -> None:
    library = Library(root)
    with pytest.raises(HalflapError) as caught:
        library.read().find(name)
    assert caught.value.code == "dspy-program-not-found"
    with pytest.raises(HalflapError):
        library.promote(name, "1.0.0")


@pytest.mark.parametrize("version", ["../../good", "/etc"])
def test_a_version_with_a_path_is_not_found(root: Path, version: str) -> None:
    with pytest.raises(Exception, match="has no version"):
        Library(root).promote("good", version)


@pytest.mark.parametrize("name", ["Upper", "a-b", "a" * 65, "new\nline", "\udcff"])
def test_a_folder_with_an_invalid_name_is_broken(root: Path, name: str) -> None:
    put(root, name)
    shelf = read(root)
    assert list(shelf.programs) == ["a_good_one", "good", "zz_good_one"]
    ((shown, reason),) = shelf.broken.items()
    assert reason
    assert shown.isprintable()


# What is no plain file, or too much of one ------------------------------------------------------------


def _fifo(file: Path) -> None:
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.mkdir()


def _device(file: Path) -> None:
    try:
        os.mknod(file, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        file.symlink_to("/dev/zero")


def _socket(file: Path) -> None:
    with contextlib.chdir(file.parent), socket.socket(socket.AF_UNIX) as one:
        one.bind(file.name)


@pytest.mark.parametrize("file", ["manifest.json", "state.json"])
@pytest.mark.parametrize("make", [_fifo, _folder, _device, _socket])
def test_special_files_are_not_opened(root: Path, file: str, make: Callable[[Path], None]) -> None:
    folder = put(root)
    (folder / file).unlink()
    make(folder / file)
    reason = broken(root)
    assert reason.startswith((f"{file} is not a plain file.", f"{file} is a symbolic link"))


@pytest.mark.parametrize(("file", "most"), [("manifest.json", 262_144), ("state.json", 4_194_304)])
def test_a_huge_file_is_not_read_to_its_end(root: Path, file: str, most: int) -> None:
    # A file with nothing in it, as large as a disk.
    with (put(root) / file).open("wb") as target:
        target.truncate(2**40)
    assert f"{most:,}" in broken(root)


@pytest.mark.parametrize("file", ["manifest.json", "state.json"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 99999999999999999999}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": 1, "a": 2}',
        b'{"a": "\\ud800"}',
        b'{"a":' * 60 + b"1" + b"}" * 60,
        b"[" * 100_000,
    ],
)
def test_invalid_or_hostile_json_is_refused(root: Path, file: str, data: bytes) -> None:
    (put(root) / file).write_bytes(data)
    assert broken(root).startswith(f"{file}: ")


def test_broken_programs_do_not_hide_good_ones(root: Path) -> None:
    for number in range(200):
        (root / f"b{number}").mkdir()
    shelf = read(root)
    assert list(shelf.programs) == ["a_good_one", "good", "zz_good_one"]
    assert len(shelf.broken) == 200


# Without DSPy -----------------------------------------------------------------------------------------


def test_reading_imports_no_dspy_and_prints_nothing(root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from halflap.dspy.field_values import check_inputs\n"
        "from halflap.dspy.library import Library; from halflap.dspy.source import DspyPrograms\n"
        "assert Library(Path(sys.argv[1])).read().programs and Library(None).read().programs\n"
        "sys.exit(any(name.split('.')[0] in {'dspy', 'litellm', 'gepa', 'pickle5', 'cloudpickle'} for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
