"""The library: reading, versions that are never overwritten, and atomic promotion."""

from __future__ import annotations

import json
import os
import shutil
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.written import as_bytes, manifest, put
from halflap.core.errors import FileError, ProgramBrokenError, UsageError
from halflap.dspy.library import Library, Stored
from halflap.dspy.state import State, read_state, write_state

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.dspy.spec import Manifest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    put(folder)
    return folder


@pytest.fixture
def library(root: Path) -> Library:
    return Library(root)


def stored(library: Library, name: str = "triage") -> Stored:
    return library.read().find(name)


def newer(library: Library, version: str) -> Stored:
    one = stored(library)
    return library.save(changed(one, version=version, validation_score=0.5), one.state)


def changed(one: Stored, **changes: Any) -> Manifest:
    return one.manifest.model_copy(update=changes)


def listed(root: Path) -> list[str]:
    return sorted(str(one.relative_to(root)) for one in root.rglob("*") if one.is_file())


# Reading ----------------------------------------------------------------------------------------------


def test_a_program_is_read_with_its_folder_and_hash(library: Library, root: Path) -> None:
    one = stored(library)
    assert (one.name, one.folder, one.versions) == ("triage", root / "triage", ("1.2.0",))
    first, second = ((root / "triage" / file).read_bytes() for file in ("manifest.json", "state.json"))
    assert one.source_hash == sha256(b"%d\0" % len(first) + first + second).hexdigest()


def test_an_unchanged_program_is_the_same_object(library: Library, root: Path) -> None:
    put(root, "other")
    (root / "broken").mkdir()
    first = library.read()
    assert all(library.read() is first for _ in range(3))
    (root / "triage" / "notes.txt").write_text("x")
    assert library.read() is first


def test_a_change_that_keeps_the_size_is_noticed(library: Library, root: Path) -> None:
    file = root / "triage" / "manifest.json"
    for number in range(20):
        file.write_bytes(as_bytes(manifest(version=f"1.{10 + number}.0")))
        assert stored(library).manifest.version == f"1.{10 + number}.0"


def test_broken_and_repaired_programs_are_noticed(library: Library, root: Path) -> None:
    assert list(library.read().programs) == ["triage"]
    (root / "triage" / "state.json").rename(root / "kept")
    assert dict(library.read().broken) == {"triage": "state.json is missing."}
    (root / "kept").rename(root / "triage" / "state.json")
    assert list(library.read().programs) == ["triage"]
    shutil.rmtree(root / "triage")
    assert library.read().programs == {}


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    library = Library(tmp_path / "nowhere")
    shelf = library.read()
    assert (shelf.programs, shelf.broken) == ({}, {})
    assert str(tmp_path / "nowhere") in shelf.problem
    assert library.read() is shelf
    put(tmp_path / "nowhere")
    assert (list(library.read().programs), library.read().problem) == (["triage"], "")


# Saving -----------------------------------------------------------------------------------------------


def test_a_new_program_is_saved_and_active(tmp_path: Path, library: Library) -> None:
    one = stored(library)
    other = Library(tmp_path / "new" / "root")
    saved = other.save(one.manifest, one.state)
    assert saved.manifest == one.manifest
    assert saved.state == one.state
    assert listed(tmp_path / "new" / "root") == ["triage/manifest.json", "triage/state.json"]
    folder = tmp_path / "new" / "root" / "triage"
    assert [oct(place.stat().st_mode & 0o777) for place in (folder, folder / "state.json")] == [
        "0o700",
        "0o600",
    ]


def test_a_further_version_is_kept_beside_the_active_one(library: Library) -> None:
    saved = newer(library, "1.10.0")
    assert (saved.manifest.version, saved.manifest.validation_score) == ("1.10.0", 0.5)
    assert stored(library).manifest.version == "1.2.0"
    assert stored(library).versions == ("1.2.0", "1.10.0")
    assert library.version("triage", "1.10.0").source_hash == saved.source_hash


def test_no_version_is_overwritten(library: Library, root: Path) -> None:
    newer(library, "1.3.0")
    before = {name: (root / name).read_bytes() for name in listed(root)}
    for version in ("1.2.0", "1.3.0"):
        with pytest.raises(UsageError, match="nothing is overwritten"):
            newer(library, version)
    assert {name: (root / name).read_bytes() for name in listed(root)} == before


def test_what_could_not_be_read_again_is_not_written(library: Library, root: Path) -> None:
    one = stored(library)
    for wrong in (changed(one, name="../x"), changed(one, version="../x")):
        with pytest.raises(ProgramBrokenError):
            library.save(wrong, one.state)
    assert listed(root.parent) == ["root/triage/manifest.json", "root/triage/state.json"]


def test_concurrent_saves_of_one_version_do_not_mix(library: Library, root: Path) -> None:
    one = stored(library)
    outcomes: list[str] = []

    def save(score: float) -> None:
        try:
            Library(root).save(changed(one, version="2.0.0", validation_score=score), one.state)
            outcomes.append("saved")
        except UsageError:
            outcomes.append("refused")

    threads = [threading.Thread(target=save, args=(number / 10,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * 5 + ["saved"]
    assert stored(library).versions == ("1.2.0", "2.0.0")
    assert [one.name for one in root.iterdir()] == ["triage"]


def test_a_full_disk_leaves_nothing_behind(
    library: Library, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        newer(library, "2.0.0")
    assert listed(root) == ["triage/manifest.json", "triage/state.json"]
    assert [one.name for one in root.iterdir()] == ["triage"]


# Promoting --------------------------------------------------------------------------------------------


def test_promoting_keeps_the_old_version(library: Library, root: Path) -> None:
    before, saved = stored(library), newer(library, "1.3.0")
    (root / "triage" / "train.jsonl").write_text("mine")
    promoted = library.promote("triage", "1.3.0")
    assert (promoted.source_hash, promoted.versions) == (saved.source_hash, ("1.2.0", "1.3.0"))
    assert library.version("triage", "1.2.0").source_hash == before.source_hash
    assert (root / "triage" / "train.jsonl").read_text() == "mine"
    assert [one.name for one in root.iterdir()] == ["triage"]


def test_a_promotion_can_be_reverted(library: Library) -> None:
    before = stored(library)
    newer(library, "1.3.0")
    library.promote("triage", "1.3.0")
    assert library.promote("triage", "1.2.0").source_hash == before.source_hash
    assert library.promote("triage", "1.2.0") is stored(library)
    assert stored(library).versions == ("1.2.0", "1.3.0")


def test_a_broken_version_is_not_promoted(library: Library, root: Path) -> None:
    newer(library, "1.3.0")
    (root / "triage" / "versions" / "1.3.0" / "state.json").write_text("{}")
    with pytest.raises(ProgramBrokenError):
        library.promote("triage", "1.3.0")
    assert stored(library).manifest.version == "1.2.0"


def other_state(one: Stored) -> State:
    value = json.loads(write_state(one.state, one.manifest))
    value["sort.predict"]["signature"]["instructions"] = "Other."
    return read_state(as_bytes(value), one.manifest)


def test_a_reader_never_sees_a_mix_of_versions(library: Library, root: Path) -> None:
    one = stored(library)
    states = {"1.2.0": one.state}
    states["1.3.0"] = library.save(changed(one, version="1.3.0"), other_state(one)).state
    assert states["1.3.0"] != one.state
    done = threading.Event()
    wrong: list[object] = []

    def text(state: State) -> str:
        return str(state.predictors["sort.predict"].signature.instructions)

    def reader() -> None:
        own = Library(root)
        while not done.is_set():
            shelf = own.read()
            found = shelf.programs.get("triage")
            if found is None or text(found.state) != text(states[found.manifest.version]):
                wrong.append(shelf)

    thread = threading.Thread(target=reader)
    thread.start()
    for number in range(30):
        library.promote("triage", "1.3.0" if number % 2 == 0 else "1.2.0")
    done.set()
    thread.join()
    assert wrong == []


def test_bundled_programs_cannot_be_changed() -> None:
    library = Library(None)
    one = library.read().find("worklet_selector")
    with pytest.raises(UsageError, match=r"Set `programs\.root` to a folder of your own"):
        library.save(one.manifest, one.state)
    with pytest.raises(UsageError, match=r"Set `programs\.root` to a folder of your own"):
        library.promote(one.name, "1.0.0")
