"""Bounds small enough that every example meets them."""

from __future__ import annotations

import sys

import pytest

import halflap.learn  # noqa: F401 -- so that its modules are there

SMALL = {
    "MOST_KEYS": 3,
    "MOST_VARIANTS": 2,
    "MOST_VALUES": 2,
    "MOST_PLACES": 30,
    "MOST_DIGESTS": 3,
    "_PLACES_BEFORE_LOOKING": 20,
}


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("halflap.learn.")]
    for name, most in SMALL.items():
        having = [module for module in modules if name in vars(module)]
        assert having, name
        for module in having:
            monkeypatch.setattr(module, name, most)
