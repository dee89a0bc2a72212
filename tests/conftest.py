"""A separate home for every test, and an event loop that must not be blocked."""

from __future__ import annotations

import gc
import inspect
import itertools
import logging
import os
import signal
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from support import MISSING, THOROUGH, examples, run_unblocked

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path


# `make test` tries the same examples each time, so that only a change can make it fail; `make test-all` tries new ones.
hypothesis.settings.register_profile(
    "halflap",
    max_examples=examples(100),
    deadline=None,  # a busy machine must not make a test fail
    derandomize=not THOROUGH,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("halflap")

# A shell that starts us in the background ignores interrupts, and our child processes would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Exclude everything loaded so far from later garbage collections."""
    gc.collect()
    gc.freeze()


def _missing(config: pytest.Config) -> list[str]:
    """Return the reasons for skipped tests that a complete machine would run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped if report.longrepr]
    return sorted({reason.removeprefix(MISSING) for reason in reasons if reason.startswith(MISSING)})


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("CI") and _missing(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if missing := _missing(config):
        terminalreporter.section("skipped, because something is missing on this machine", bold=True)
        for what in missing:
            terminalreporter.write_line(what)
        if os.environ.get("CI"):
            terminalreporter.write_line("CI is set, so this fails the run.", red=True)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield folders that do not exist yet. Letting pytest make one takes longer than most tests."""
    place = tmp_path_factory.mktemp("homes")
    return (place / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(request: pytest.FixtureRequest, homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the test's home. No file or keyring of the user is read or written."""
    wants_more = "tmp_path" in request.fixturenames
    folder: Path = request.getfixturevalue("tmp_path") / "home" if wants_more else next(homes)
    folder.mkdir()
    monkeypatch.setenv("HALFLAP_CONFIG_DIR", str(folder / "config"))
    monkeypatch.setenv("HALFLAP_DATA_DIR", str(folder / "data"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.delenv("HALFLAP_CONFIG", raising=False)
    return folder


@pytest.fixture(autouse=True)
def log() -> Iterator[None]:
    """Restore log levels and handlers that a command in this process changed."""
    root = logging.getLogger()
    before = {one: one.level for one in _loggers(root)}
    handlers = [*root.handlers]
    yield
    for one in _loggers(root):
        level = before.get(one, logging.NOTSET)
        # Setting a level drops the caches of all loggers.
        if one.level != level:
            one.setLevel(level)
    for handler in root.handlers[:]:
        if type(handler) is logging.StreamHandler and handler not in handlers:
            root.removeHandler(handler)


def _loggers(root: logging.Logger) -> list[logging.Logger]:
    return [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test as `run` does."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    run_unblocked(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return run_unblocked
