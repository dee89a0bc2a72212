"""The folder of programs: nothing in a file is trusted, and reading it needs no DSPy."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.saved import triage, write
from halflap.core.errors import UsageError
from halflap.dspy.library import Library

if TYPE_CHECKING:
    from pathlib import Path

BUNDLED = Library(None).read().valid


class Bomb:
    """Once unpickled, it has written a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self.target)!r}, 'w').close()",)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    file = write(tmp_path / "root", triage())
    file.write_bytes(pickle.dumps(Bomb(tmp_path / "harm")))
    assert "JSON" in Library(tmp_path / "root").read().broken["triage"]
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b"9" * 5_000 + b"}", b'{"a": "\\ud800"}', b"[" * 100_000],
)  # fmt: skip
def test_invalid_or_hostile_json_is_refused(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, triage(name="other"))
    write(tmp_path, triage()).write_bytes(data)
    saved = Library(tmp_path).read()
    assert (list(saved.valid), list(saved.broken)) == (["other"], ["triage"])


def test_reading_imports_no_dspy_and_prints_nothing(tmp_path: Path) -> None:
    write(tmp_path, triage())
    code = (
        "import sys; from pathlib import Path; import halflap.dspy.programs\n"
        "from halflap.dspy.library import Library\n"
        "assert Library(Path(sys.argv[1])).read().valid and Library(None).read().valid\n"
        "sys.exit(any(name.split('.')[0] in {'dspy', 'litellm', 'gepa', 'cloudpickle'} for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_bundled_programs_are_valid_and_cannot_be_changed() -> None:
    assert list(BUNDLED) == ["anomaly_forensics", "resource_router", "runtime_adaptation", "worklet_selector"]
    selector = BUNDLED["worklet_selector"].spec
    assert (len(selector.predictors), selector.optimizer, selector.validation_score) == (3, "none", None)
    assert [field.name for field in selector.inputs] == ["workflow_description", "case_context"]
    assert [field.name for field in selector.outputs] == ["worklet_id", "rationale", "confidence"]
    with pytest.raises(UsageError, match=r"programs\.root"):
        Library(None).save(selector, force=True)
