"""What is installed from a wheel has all that the demo needs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from cli.program import environment
from halflap.cli.demo.story import SCENES
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this tree, unpacked as an installer does."""
    place = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(ROOT)],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if "hatchling" in built.stderr and "No matching distribution" in built.stderr:
        pytest.skip("needs the build backend hatchling, which could not be fetched")
    assert built.returncode == 0, built.stderr
    (wheel,) = place.glob("*.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(place / "site")
    return place


def test_the_demo_runs_from_a_wheel_alone(installed: Path) -> None:
    site = installed / "site"
    # It has to be this copy that runs, here and in the servers that it starts.
    variables = {**environment(installed), "PYTHONPATH": str(site)}
    where = "import halflap, halflap.demo; print(halflap.__file__, halflap.demo.__file__)"
    found = subprocess.run(
        [sys.executable, "-P", "-c", where], capture_output=True, text=True, env=variables, check=True
    )
    assert found.stdout.split() == [
        str(site / "halflap" / name) for name in ("__init__.py", "demo/__init__.py")
    ]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "halflap", "demo"],
        capture_output=True,
        text=True,
        env=variables,
        cwd=installed,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"All {len(SCENES)} steps held" in done.stdout
