"""A home of its own for every test, and a loop that may not be blocked."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from blockbuster import blockbuster_ctx

from support import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path


# A machine that is busy with other tests is no reason to fail one.
hypothesis.settings.register_profile(
    "halflap",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("halflap")

# A shell that starts us in the background has interrupts ignored, and what we start would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has its own home: nothing of the user's is read or written."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HALFLAP_CONFIG_DIR", str(folder / "config"))
    monkeypatch.setenv("HALFLAP_DATA_DIR", str(folder / "data"))
    monkeypatch.delenv("HALFLAP_CONFIG", raising=False)
    return folder


@pytest.fixture(autouse=True)
def log() -> Iterator[None]:
    """How much a command in this process says of itself, and where, is over when its test is."""
    root = logging.getLogger()
    before = {one: one.level for one in _loggers(root)}
    handlers = [*root.handlers]
    yield
    for one in _loggers(root):
        one.setLevel(before.get(one, logging.NOTSET))
    for handler in root.handlers[:]:
        if type(handler) is logging.StreamHandler and handler not in handlers:
            root.removeHandler(handler)


def _loggers(root: logging.Logger) -> list[logging.Logger]:
    return [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine on a loop that may not be blocked: what would block it, from our code, raises."""

    def runner(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with blockbuster_ctx("halflap"):
            return asyncio.run(coroutine)

    return runner
