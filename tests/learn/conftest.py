"""Bounds small enough that every example meets them."""

from __future__ import annotations

import sys

import pytest

import halflap.learn  # noqa: F401 -- so that its modules are there

SMALL = {
    "MOST_KEYS": 3,
    "_MAX_ALIKE_KEYS": 1,
    "MOST_VARIANTS": 2,
    "MOST_VALUES": 2,
    "MOST_PLACES": 30,
    "MOST_DIGESTS": 3,
    "_AT_ONCE": 2,
}


def set_everywhere(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    """Set a name in all modules of the package that have it."""
    modules = [module for name, module in sys.modules.items() if name.startswith("halflap.learn.")]
    having = [module for module in modules if name in vars(module)]
    assert having, name
    for module in having:
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in SMALL.items():
        set_everywhere(monkeypatch, name, most)


@pytest.fixture
def crowds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits so that a few keys are a crowd, with room for variants."""
    set_everywhere(monkeypatch, "MOST_KEYS", 5)
    set_everywhere(monkeypatch, "_MAX_ALIKE_KEYS", 3)
