"""The library: files that nobody vouches for, and programs that are saved whole or not at all."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.saved import triage, write
from halflap.core.errors import ProgramBrokenError, UsageError
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


def save(library: Library, name: str, *, replace: bool = False, **changes: Any) -> SavedProgram:
    spec = found(library).spec.model_copy(update={"name": name, **changes})
    return library.save(spec, replace=replace)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# Reading and writing ----------------------------------------------------------------------------------


def test_unchanged_programs_are_the_same_object_and_every_change_is_noticed(
    library: Library, root: Path
) -> None:
    first = library.read()
    assert found(library).source_hash == sha256((root / "triage.json").read_bytes()).hexdigest()
    (root / "notes.txt").write_text("x")
    assert library.read() is first
    for version in ("1.3.0", "1.4.0"):
        write(root, triage(version=version))
        assert found(library).spec.version == version
    (root / "triage.json").write_text("{")
    assert "JSON" in library.read().broken["triage"]
    (root / "triage.json").unlink()
    assert (library.read().programs, library.read().broken) == ({}, {})


def test_a_new_program_is_private(tmp_path: Path, library: Library) -> None:
    saved = Library(tmp_path / "new" / "root").save(found(library).spec)
    assert saved.spec == found(library).spec
    modes = [path.stat().st_mode & 0o777 for path in (saved.path.parent, saved.path)]
    assert modes == [0o700, 0o600]


def test_a_program_is_replaced_only_on_request(library: Library, root: Path) -> None:
    before = files(root)
    with pytest.raises(UsageError, match="--replace"):
        save(library, "triage", validation_score=0.9)
    assert files(root) == before
    saved = save(library, "triage", replace=True, validation_score=0.9)
    assert (saved.spec.validation_score, found(library)) == (0.9, saved)
    assert [path.name for path in root.iterdir()] == ["triage.json"]


def test_what_could_not_be_read_again_is_not_written(library: Library, root: Path) -> None:
    before = files(root.parent)
    for name, version in (("../x", "1.0.0"), ("other", "../x")):
        with pytest.raises(ProgramBrokenError):
            save(library, name, version=version)
    assert files(root.parent) == before


def test_bundled_programs_cannot_be_changed() -> None:
    library = Library(None)
    with pytest.raises(UsageError, match=r"programs\.root"):
        library.save(found(library, "worklet_selector").spec, replace=True)


# Hostile files ----------------------------------------------------------------------------------------


@pytest.fixture
def hostile(root: Path) -> Path:
    """The file of a valid program between two others, to be spoilt."""
    for name in ("a_good_one", "zz_good_one"):
        write(root, triage(name=name))
    return root / "triage.json"


def reason(file: Path) -> str:
    """Return why a program is broken; it must not hide the others, or block."""
    saved = Library(file.parent).read()
    assert list(saved.programs) == ["a_good_one", "zz_good_one"]
    assert list(saved.broken) == [file.stem]
    with pytest.raises(ProgramBrokenError):
        saved.find(file.stem)
    return saved.broken[file.stem]


class Bomb:
    """Once unpickled, it has written a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self.target)!r}, 'w').close()",)


def test_a_pickle_is_never_opened(hostile: Path, tmp_path: Path) -> None:
    hostile.write_bytes(pickle.dumps(Bomb(tmp_path / "harm")))
    assert "JSON" in reason(hostile)
    assert not (tmp_path / "harm").exists()


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("make", [_link, os.mkfifo, os.mkdir])
def test_links_and_special_files_are_not_read(hostile: Path, make: Callable[[Path], None]) -> None:
    hostile.unlink()
    make(hostile)
    assert reason(hostile).startswith("it cannot be read: ")


@pytest.mark.parametrize("name", ["Upper", "a" * 65, "new\nline", "\udcff"])
def test_a_file_with_an_invalid_name_is_broken(root: Path, name: str) -> None:
    (root / f"{name}.json").write_text(json.dumps(triage()))
    saved = Library(root).read()
    assert list(saved.programs) == ["triage"]
    assert [shown.isprintable() for shown in saved.broken] == [True]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b"9" * 5_000 + b"}", b'{"a": "\\ud800"}', b"[" * 100_000],
)  # fmt: skip
def test_invalid_or_hostile_json_is_refused(hostile: Path, data: bytes) -> None:
    hostile.write_bytes(data)
    assert reason(hostile)


def test_reading_imports_no_dspy_and_prints_nothing(root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import halflap.dspy.programs\n"
        "from halflap.dspy.library import Library\n"
        "assert Library(Path(sys.argv[1])).read().programs and Library(None).read().programs\n"
        "sys.exit(any(name.split('.')[0] in {'dspy', 'litellm', 'gepa', 'cloudpickle'} for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
