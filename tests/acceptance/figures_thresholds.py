"""The thresholds of figures.toml, and the comparison of measured values with them."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_EPSILON = 1e-9


@cache
def thresholds() -> dict[str, dict[str, Any]]:
    """Return the thresholds by `group.name`."""
    groups = tomllib.loads(Path(__file__).with_name("figures.toml").read_text())
    return {f"{group}.{name}": one for group, figures in groups.items() for name, one in figures.items()}


def hold(name: str, part: int, whole: int | None = None) -> None:
    """Print a figure, a count or a share, and assert that it is no worse than its threshold."""
    bound = thresholds()[name]
    value = part if whole is None else part / whole
    shown = f"{part}" if whole is None else f"{value:.3f} ({part} of {whole})"
    if "at_least" in bound:
        is_held, wanted = value >= bound["at_least"] - _EPSILON, f"at least {bound['at_least']}"
    else:
        is_held, wanted = value <= bound["at_most"] + _EPSILON, f"at most {bound['at_most']}"
    line = f"{name}: {shown}, {wanted}"
    print(f"figure: {line}")  # noqa: T201 -- `pytest -rP` shows it
    assert is_held, f"{line}. {bound['about']}"
