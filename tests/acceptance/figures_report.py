"""Print every figure beside its threshold: `python tests/acceptance/figures_report.py [--slow]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    marks = [] if "--slow" in sys.argv else ["-m", "not slow"]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", *marks, *map(str, HERE.glob("test_figures*.py"))]
    done = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, check=False)
    shown = ("figure: ", "PASSED", "FAILED", "SKIPPED", "ERROR", "E  ")
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith(shown)))  # noqa: T201 -- a script
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
