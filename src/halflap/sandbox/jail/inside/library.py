"""Loads what programs may import before the process is locked, because a locked process can open no file.

The standard library is imported. So are the packages in `execution.modules` with all of their modules; their data files
are kept in memory. While they load, everything they write goes to a private folder that is deleted afterwards.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import os
import pkgutil
import shutil
import sys
import tempfile
import time
import warnings
import zoneinfo
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_LEFT_OUT = frozenset(
    {
        # Network and mail.
        "cgi", "cgitb", "ftplib", "imaplib", "mailbox", "mailcap", "netrc", "nntplib", "poplib", "smtpd", "smtplib",
        "socketserver", "telnetlib", "webbrowser", "wsgiref", "xmlrpc",
        # Terminals and windows.
        "antigravity", "cmd", "curses", "_curses", "_curses_panel", "getpass", "idlelib", "pty", "readline", "rlcompleter",
        "termios", "this", "tkinter", "_tkinter", "tty", "turtle", "turtledemo",
        # Processes and users.
        "crypt", "multiprocessing", "nis", "pipes", "spwd",
        # Tests, debuggers, and what builds and installs.
        "__main__", "bdb", "code", "codeop", "compileall", "cProfile", "distutils", "doctest", "ensurepip", "lib2to3",
        "modulefinder", "pdb", "profile", "pstats", "py_compile", "pyclbr", "pydoc_data", "runpy", "site",
        "sitecustomize", "symtable", "tabnanny", "test", "trace", "tracemalloc", "unittest", "usercustomize", "venv",
        "zipapp",
        # What Python 3.13 has removed.
        "aifc", "asynchat", "asyncore", "audioop", "chunk", "imghdr", "msilib", "ossaudiodev", "sndhdr", "sunau", "uu",
        "xdrlib",
    }
)  # fmt: skip
"""Useless in programs, and half of the time that the standard library takes to load."""
_PACKAGES = (
    "asyncio", "collections", "ctypes", "email", "email.mime", "encodings", "html", "importlib", "json", "logging", "os",
    "urllib", "xml.dom", "xml.etree", "xml.sax", "zoneinfo",
)  # fmt: skip
"""Packages of the standard library whose submodules people import by name."""


def preload(modules: Sequence[str]) -> dict[str, str]:
    """Import the standard library and further modules; return those that failed, with the reason."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    # Some modules print when they are imported, or warn that they will be gone.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        names = [*sorted(sys.stdlib_module_names - _LEFT_OUT), "concurrent.futures.thread"]
        for package in _PACKAGES:
            inner = pkgutil.iter_modules(getattr(importlib.import_module(package), "__path__", ()))
            names += [f"{package}.{module.name}" for module in inner if module.name != "__main__"]
        for name in names:
            # Some exist on other systems only.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        failed = _load_packages(modules) if modules else {}
    _keep_time_zones()
    os.environ.clear()
    return failed


def _keep_time_zones() -> None:
    """Read every time zone into memory, and let `zoneinfo` look there."""
    common: Any = importlib.import_module("zoneinfo._common")
    paths: Any = importlib.import_module("zoneinfo._tzpath")
    zones: dict[str, bytes] = {}
    for key in zoneinfo.available_timezones():
        path = paths.find_tzfile(key)
        with contextlib.suppress(OSError):
            zones[key] = Path(path).read_bytes() if path else common.load_tzdata(key).read()

    def load(key: str) -> io.BytesIO:
        if key not in zones:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(zones[key])

    common.load_tzdata = load
    zoneinfo.reset_tzpath([])
    zoneinfo.available_timezones = lambda: set(zones)


_WARM_UP = {
    "matplotlib": """
import io
import matplotlib
matplotlib.use("agg")
from matplotlib import font_manager, pyplot as plt
# The machine's own fonts cannot be opened later.
fonts = font_manager.fontManager
fonts.ttflist = [font for font in fonts.ttflist if font.fname.startswith(matplotlib.get_data_path())]
plt.title("$x^2$")
plt.savefig(io.BytesIO())
plt.close("all")
""",
}
"""Ordinary use of a package that loads more then, such as fonts."""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Numeric libraries start threads when they are loaded; a process with threads cannot be locked."""
_FOLDERS = ("HOME", "TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
_TESTS = frozenset({"tests", "conftest", "sample_data", "__main__"})
_CODE = frozenset({".py", ".pyc", ".pyi", ".so", ".pyx", ".pxd", ".h", ".c", ".a"})
_MAX_MODULES = 2_000
"""Maximum per package; importing as many takes up to ten seconds."""
_MAX_FILE_BYTES = 4 << 20
_MAX_BYTES = 64 << 20
_files: dict[str, bytes] = {}
"""The data files of packages, by path."""


def _load_packages(names: Sequence[str]) -> dict[str, str]:
    """Load packages; return those that failed, with the reason."""
    failed: dict[str, str] = {}
    folder = tempfile.mkdtemp(prefix="halflap-")
    os.environ.update(dict.fromkeys(_THREADS, "1"), **dict.fromkeys(_FOLDERS, folder))
    tempfile.tempdir = None
    try:
        for name in names:
            package = name.partition(".")[0]
            try:
                importlib.import_module(name)
                _import_below(sys.modules[package], _MAX_MODULES)
                exec(_WARM_UP.get(package, ""), {})  # noqa: S102 -- our own lines
            except Exception as error:  # noqa: BLE001 -- a package may raise anything
                failed[name] = f"{type(error).__name__}: {error}"
            else:
                for place in getattr(sys.modules[package], "__path__", ()):
                    _keep_files(Path(place))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _open_from_memory()
    return failed


def _import_below(package: ModuleType, most: int) -> int:
    """Import the modules in a package up to the limit; return how many were left out."""
    for found in pkgutil.iter_modules(getattr(package, "__path__", ()), f"{package.__name__}."):
        if most > 0 and found.name.rpartition(".")[2] not in _TESTS:
            # Some need what is not installed, or another system.
            with contextlib.suppress(Exception, SystemExit):
                most -= 1
                module = importlib.import_module(found.name)
                most = _import_below(module, most) if found.ispkg else most
    return most


def _keep_files(folder: Path) -> None:
    """Read the data files of a package into memory, such as fonts and styles."""
    room = _MAX_BYTES
    for file in sorted(folder.rglob("*")):
        if file.suffix in _CODE or not _TESTS.isdisjoint(file.relative_to(folder).parts):
            continue
        with contextlib.suppress(OSError):
            size = file.stat().st_size
            if file.is_file() and size <= min(room, _MAX_FILE_BYTES):
                room -= size
                _files[str(file)] = file.read_bytes()


def _open_from_memory() -> None:
    """Let `open` find the data files in memory; any other file is opened as usual, which fails in a locked process."""
    real: Callable[..., Any] = io.open

    def opened(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        data = _files.get(_plain_path(file)) if mode in {"r", "rt", "rb"} else None
        if data is None:
            return real(file, mode, *more, **options)
        raw = io.BytesIO(data)
        return raw if "b" in mode else io.TextIOWrapper(raw, options.get("encoding") or "utf-8")

    io.open = builtins.open = opened
    _disguise(opened, "open")
    for name in ("exists", "isfile"):
        setattr(os.path, name, _in_memory_or(getattr(os.path, name)))


def _in_memory_or(real: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def found(path: Any) -> bool:
        return _plain_path(path) in _files or real(path)

    _disguise(found, real.__name__)
    return found


def _plain_path(path: Any) -> str:
    """Return a path as a plain string: matplotlib's paths of fonts are strings with an equality of their own."""
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    return str.__str__(path) if isinstance(path, str) else ""


def _disguise(function: Any, name: str) -> None:
    """Show no file of ours in a traceback that a program prints."""
    function.__code__ = function.__code__.replace(co_filename=f"<{name}>", co_name=name)


def show_figures(show: Callable[[Any], None]) -> None:
    """Let `plt.show()` show the open figures to the model."""
    plot: Any = sys.modules.get("matplotlib.pyplot")
    if plot is None:
        return

    def show_all(*_: object, **__: object) -> None:
        for number in plot.get_fignums():
            show(plot.figure(number))
        plot.close("all")

    plot.show = show_all
