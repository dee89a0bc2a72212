"""pandas, numpy and matplotlib in programs, with the real packages; `make test-all` installs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sandbox.desk import Desk

pytestmark = pytest.mark.slow

PACKAGES = ("numpy", "pandas", "matplotlib")


@pytest.fixture(scope="module")
def packages(desk_with: Callable[..., Desk]) -> Desk:
    for name in PACKAGES:
        pytest.importorskip(name, reason=f"{name} is not installed: pip install {' '.join(PACKAGES)}")
    return desk_with(modules=list(PACKAGES), max_memory_mb=512, timeout_seconds=60)


def test_they_are_loaded_without_complaint(packages: Desk) -> None:
    readiness = packages.do(packages.gateway.parts.programs.ready())
    assert readiness.notes == []


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("import numpy as np\nprint(np.linalg.det(np.eye(3)), np.arange(6).reshape(2, 3).sum(axis=0))", "1.0 [3 5 7]\n"),
        ("import numpy as np\nprint(round(np.polyfit([1, 2, 3], [2, 4, 6], 1)[0], 6))", "2.0\n"),
        ("import pandas as pd\nprint(pd.DataFrame({'g': ['a', 'a', 'b'], 'v': [1, 3, 5]}).groupby('g')['v'].mean().to_dict())", "{'a': 2.0, 'b': 5.0}\n"),
        ("import io, pandas as pd\nprint(pd.read_csv(io.StringIO('a,b\\n1,2\\n'))['b'].sum())", "2\n"),
        ("from pandas.io.formats import excel\nfrom numpy.polynomial import hermite_e\nprint(excel.__name__)", "pandas.io.formats.excel\n"),
        ("import pandas as pd\nprint(pd.Timestamp('2026-01-01', tz='Europe/Berlin').utcoffset())", "1:00:00\n"),
        ("import pandas as pd\ns = pd.Series(range(48), index=pd.date_range('2026', periods=48, freq='h'))\nprint(s.resample('D').sum().tolist())", "[276, 852]\n"),
    ],
)  # fmt: skip
def test_ordinary_programs_run(packages: Desk, code: str, output: str) -> None:
    execution = packages.run(code)
    assert execution.ok, execution.text
    assert execution.output == output


@pytest.mark.parametrize("end", ["plt.show()", "show(figure)", "figure", "print('left open')"])
def test_a_plot_is_shown_as_a_picture(packages: Desk, end: str) -> None:
    execution = packages.run(
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.bar(['ü', 'b'], [1, 2])\n"
        f"axes.set_title(r'bold $\\alpha$', fontweight='bold', fontfamily='serif')\n{end}"
    )
    assert execution.ok, execution.text
    assert [block["mimeType"] for block in execution.shown] == ["image/png"]


def test_pandas_plots_in_another_style_and_shows_it_as_the_last_line(packages: Desk) -> None:
    execution = packages.run(
        "import pandas as pd, matplotlib.pyplot as plt\nplt.style.use('seaborn-v0_8')\npd.Series([1, 2]).plot(title='x')"
    )
    assert execution.ok, execution.text
    assert (execution.output, len(execution.shown)) == ("", 1)


def test_the_locks_hold_beside_them(packages: Desk, tmp_path: Path) -> None:
    target = tmp_path / "frame.csv"
    execution = packages.run(f"import pandas as pd\npd.DataFrame({{'a': [1]}}).to_csv({str(target)!r})")
    assert (execution.outcome, target.exists()) == ("failed", False)
    assert packages.run("print(open('/etc/passwd').read())").outcome == "failed"
