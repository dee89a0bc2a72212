"""The library: untrusted folders, versions that are never overwritten, and atomic promotion."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.saved import triage, write
from halflap.core.errors import FileError, HalflapError, ProgramBrokenError, UsageError
from halflap.dspy.library import Library, SavedProgram

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "root", triage())
    return tmp_path / "root"


@pytest.fixture
def library(root: Path) -> Library:
    return Library(root)


def found(library: Library, name: str = "triage") -> SavedProgram:
    return library.read().find(name)


def save(library: Library, version: str, **changes: Any) -> SavedProgram:
    program = found(library)
    manifest = program.manifest.model_copy(update={"version": version, **changes})
    return library.save(manifest, program.state)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# Reading ----------------------------------------------------------------------------------------------


def test_a_program_is_read_with_its_folder_and_hash(library: Library, root: Path) -> None:
    program = found(library)
    assert (program.folder, program.versions) == (root / "triage", ("1.2.0",))
    first, second = ((root / "triage" / file).read_bytes() for file in ("manifest.json", "state.json"))
    assert program.source_hash == sha256(b"%d\0" % len(first) + first + second).hexdigest()


def test_unchanged_programs_are_the_same_object_and_every_change_is_noticed(
    library: Library, root: Path
) -> None:
    first = library.read()
    (root / "triage" / "notes.txt").write_text("x")
    assert library.read() is first
    for version in ("1.3.0", "1.4.0"):
        (root / "triage" / "manifest.json").write_text(json.dumps(triage(version=version)))
        assert found(library).manifest.version == version
    (root / "triage" / "state.json").rename(root / "kept")
    assert library.read().broken["triage"].startswith("state.json is missing.")
    (root / "kept").rename(root / "triage" / "state.json")
    assert list(library.read().programs) == ["triage"]
    shutil.rmtree(root / "triage")
    assert library.read().programs == {}


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    library = Library(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in library.read().problem
    write(tmp_path / "nowhere", triage())
    assert (list(library.read().programs), library.read().problem) == (["triage"], "")


# Writing ----------------------------------------------------------------------------------------------


def test_a_new_program_is_private_and_active(tmp_path: Path, library: Library) -> None:
    program = found(library)
    other = Library(tmp_path / "new" / "root")
    saved = other.save(program.manifest, program.state)
    assert (saved.manifest, saved.state) == (program.manifest, program.state)
    assert sorted(files(tmp_path / "new" / "root")) == ["triage/manifest.json", "triage/state.json"]
    modes = [path.stat().st_mode & 0o777 for path in (saved.folder, saved.folder / "state.json")]
    assert modes == [0o700, 0o600]


def test_versions_are_kept_promoted_and_reverted(library: Library, root: Path) -> None:
    before = found(library)
    saved = save(library, "1.10.0", validation_score=0.5)
    assert (saved.manifest.validation_score, found(library).manifest.version) == (0.5, "1.2.0")
    assert found(library).versions == ("1.2.0", "1.10.0")
    (root / "triage" / "train.jsonl").write_text("mine")
    promoted = library.promote("triage", "1.10.0")
    assert (promoted.source_hash, promoted.versions) == (saved.source_hash, ("1.2.0", "1.10.0"))
    assert library.version("triage", "1.2.0").source_hash == before.source_hash
    assert library.promote("triage", "1.2.0").source_hash == before.source_hash
    assert found(library).versions == ("1.2.0", "1.10.0")
    assert (root / "triage" / "train.jsonl").read_text() == "mine"
    assert [path.name for path in root.iterdir()] == ["triage"]


def test_no_version_is_overwritten(library: Library, root: Path) -> None:
    save(library, "1.3.0")
    before = files(root)
    for version in ("1.2.0", "1.3.0"):
        with pytest.raises(UsageError, match="nothing is overwritten"):
            save(library, version, validation_score=0.9)
    assert files(root) == before


def test_what_could_not_be_read_again_is_not_written(library: Library, root: Path) -> None:
    before = files(root.parent)
    for changes in ({"name": "../x", "version": "2.0.0"}, {"version": "../x"}):
        with pytest.raises(ProgramBrokenError):
            save(library, **changes)
    assert files(root.parent) == before


def test_of_concurrent_saves_of_one_version_one_wins(library: Library, root: Path) -> None:
    outcomes: list[str] = []
    program = found(library)

    def attempt(score: float) -> None:
        changes = {"version": "2.0.0", "validation_score": score}
        try:
            Library(root).save(program.manifest.model_copy(update=changes), program.state)
            outcomes.append("saved")
        except UsageError:
            outcomes.append("refused")

    threads = [threading.Thread(target=attempt, args=(number / 10,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * 5 + ["saved"]
    assert found(library).versions == ("1.2.0", "2.0.0")
    assert sorted(path.name for path in (root / "triage" / "versions").iterdir()) == ["2.0.0"]


def test_a_full_disk_leaves_nothing_behind(
    library: Library, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = files(root)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        save(library, "2.0.0")
    assert files(root) == before


def test_a_broken_version_is_not_promoted(library: Library, root: Path) -> None:
    save(library, "1.3.0")
    (root / "triage" / "versions" / "1.3.0" / "state.json").write_text("{}")
    with pytest.raises(ProgramBrokenError):
        library.promote("triage", "1.3.0")
    assert found(library).manifest.version == "1.2.0"


def test_a_reader_never_sees_a_mix_of_versions(library: Library, root: Path) -> None:
    hashes = {"1.2.0": found(library).source_hash, "1.3.0": save(library, "1.3.0").source_hash}
    done = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        own = Library(root)
        while not done.is_set():
            program = own.read().programs.get("triage")
            if program is None or program.source_hash != hashes[program.manifest.version]:
                wrong.append(program)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(20):
        library.promote("triage", "1.3.0" if number % 2 == 0 else "1.2.0")
    done.set()
    thread.join()
    assert wrong == []


def test_bundled_programs_cannot_be_changed() -> None:
    library = Library(None)
    program = found(library, "worklet_selector")
    with pytest.raises(UsageError, match=r"programs\.root"):
        library.save(program.manifest, program.state)
    with pytest.raises(UsageError, match=r"programs\.root"):
        library.promote(program.name, "1.0.0")


# Hostile folders --------------------------------------------------------------------------------------


@pytest.fixture
def hostile(root: Path) -> Path:
    """The folder of a valid program between two others, to be spoilt."""
    for name in ("a_good_one", "zz_good_one"):
        write(root, triage(name=name))
    return root / "triage"


def reason(folder: Path) -> str:
    """Return why a program is broken; it must not hide the others, or block."""
    saved = Library(folder.parent).read()
    assert list(saved.programs) == ["a_good_one", "zz_good_one"]
    assert list(saved.broken) == [folder.name]
    with pytest.raises(ProgramBrokenError):
        saved.find(folder.name)
    return saved.broken[folder.name]


class Bomb:
    """Once unpickled, it has written a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self.target)!r}, 'w').close()",)


@pytest.mark.parametrize("file", ["state.json", "manifest.json", "program.pkl"])
def test_a_pickle_is_never_opened(hostile: Path, tmp_path: Path, file: str) -> None:
    (hostile / "state.json").unlink()
    (hostile / file).write_bytes(pickle.dumps(Bomb(tmp_path / "harm")))
    assert ".json" in reason(hostile)
    assert not (tmp_path / "harm").exists()


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("file", ["manifest.json", "state.json", "current"])
@pytest.mark.parametrize("make", [_link, os.mkfifo, os.mkdir])
def test_links_and_special_files_are_not_read(hostile: Path, file: str, make: Callable[[Path], None]) -> None:
    (hostile / file).unlink(missing_ok=True)
    make(hostile / file)
    assert reason(hostile).startswith(f"{file} cannot be read: ")


def test_linked_folders_are_not_followed(hostile: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (hostile / "current").write_text("1.2.0\n")
    (hostile / "versions").mkdir()
    shutil.copytree(hostile, outside, ignore=shutil.ignore_patterns("current", "versions"))
    (hostile / "versions" / "1.2.0").symlink_to(outside)
    assert "symbolic link" in reason(hostile)
    shutil.rmtree(hostile)
    hostile.symlink_to(outside)
    assert "symbolic link" in reason(hostile)


def test_saving_does_not_follow_a_link(hostile: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (hostile / "versions").symlink_to(tmp_path / "outside")
    with pytest.raises(ProgramBrokenError, match="symbolic link"):
        save(Library(hostile.parent), "2.0.0")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("name", ["../root/triage", "/etc", "", "triage\0"])
def test_a_name_or_version_with_a_path_is_not_found(library: Library, name: str) -> None:
    with pytest.raises(HalflapError) as caught:
        found(library, name)
    assert caught.value.code == "dspy-program-not-found"
    with pytest.raises(HalflapError):
        library.promote(name, "1.2.0")
    with pytest.raises(UsageError, match="has no version"):
        library.promote("triage", name)


@pytest.mark.parametrize("current", ["", "../../other", "9.9.9", "x" * 200])
def test_a_current_file_that_names_no_version_breaks_the_program(hostile: Path, current: str) -> None:
    (hostile / "current").write_text(current)
    assert reason(hostile)


@pytest.mark.parametrize("name", ["Upper", "a-b", "a" * 65, "new\nline", "\udcff"])
def test_a_folder_with_an_invalid_name_is_broken(root: Path, name: str) -> None:
    (root / name).mkdir()
    saved = Library(root).read()
    assert list(saved.programs) == ["triage"]
    assert [shown.isprintable() for shown in saved.broken] == [True]


@pytest.mark.parametrize(("file", "most"), [("manifest.json", "256 KiB"), ("state.json", "4,096 KiB")])
def test_a_huge_file_is_not_read_to_its_end(hostile: Path, file: str, most: str) -> None:
    with (hostile / file).open("wb") as target:
        target.truncate(2**40)
    assert most in reason(hostile)


@pytest.mark.parametrize("file", ["manifest.json", "state.json"])
@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b"9" * 5_000 + b"}", b'{"a": "\\ud800"}', b"[" * 100_000],
)  # fmt: skip
def test_invalid_or_hostile_json_is_refused(hostile: Path, file: str, data: bytes) -> None:
    (hostile / file).write_bytes(data)
    assert reason(hostile).startswith(f"{file}: ")


def test_reading_imports_no_dspy_and_prints_nothing(root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import halflap.dspy.source\n"
        "from halflap.dspy.library import Library\n"
        "assert Library(Path(sys.argv[1])).read().programs and Library(None).read().programs\n"
        "sys.exit(any(name.split('.')[0] in {'dspy', 'litellm', 'gepa', 'cloudpickle'} for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
