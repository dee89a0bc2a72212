"""Loads what programs may import, before the process is locked: after that no file can be opened.

A package of `execution.modules` is imported, used once (`_WARM_UP`, so that it loads what it would load at its first use),
and its data files are kept in memory. While it loads, everything it writes goes to a private folder that is deleted afterwards.
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
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["preload", "show_figures"]

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
"""They are of no use in programs, and half of what the standard library takes to load."""
_PACKAGES = (
    "asyncio", "collections", "ctypes", "email", "email.mime", "encodings", "html", "importlib", "json", "logging", "os",
    "urllib", "xml.dom", "xml.etree", "xml.sax", "zoneinfo",
)  # fmt: skip
"""Packages of the standard library whose inner modules people import by name."""


def preload(modules: Iterable[str]) -> dict[str, str]:
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
        failed = _load_packages(modules)
    _keep_time_zones()
    os.environ.clear()
    return failed


def _keep_time_zones() -> None:
    """Read every time zone into memory, and let `zoneinfo` look there."""
    common: Any = importlib.import_module("zoneinfo._common")
    paths: Any = importlib.import_module("zoneinfo._tzpath")
    known: dict[str, bytes] = {}
    for key in zoneinfo.available_timezones():
        path = paths.find_tzfile(key)
        with contextlib.suppress(OSError):
            known[key] = Path(path).read_bytes() if path else common.load_tzdata(key).read()

    def load(key: str) -> io.BytesIO:
        if key not in known:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(known[key])

    common.load_tzdata = load
    zoneinfo.reset_tzpath([])
    zoneinfo.available_timezones = lambda: set(known)


_WARM_UP = {
    "numpy": """
import numpy as np
a = np.random.default_rng(1).normal(size=(4, 4))
np.linalg.svd(a), np.fft.fft(a), np.polyfit([1, 2, 3], [1, 2, 4], 1), str(a), np.median(a), np.histogram(a)
""",
    "pandas": """
import io
import pandas as pd
frame = pd.read_csv(io.StringIO("day,group,value\\n2026-01-01,a,1\\n2026-01-02,b,2\\n"), parse_dates=["day"])
str(frame), frame.describe().to_string(), frame.to_json(), frame.to_csv(), frame.to_html(), frame.to_dict("records")
str(frame.dtypes), frame.info(buf=io.StringIO()), str(frame.groupby("group")["value"].agg(["mean", "sum"]))
str(frame.set_index("day").resample("D").sum()), frame.pivot_table(index="group", values="value")
frame.merge(frame, on="day"), frame["day"].dt.strftime("%Y"), frame["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
pd.read_json(io.StringIO(frame.to_json(orient="records"))), pd.json_normalize([{"a": {"b": 1}}]), frame.corr(numeric_only=True)
""",
    "matplotlib": """
import io
import matplotlib
matplotlib.use("agg")
from matplotlib import pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2], [1, 2], label="x"), axes.bar(["a", "b"], [1, 2]), axes.legend(), axes.set_title("$x^2$ title")
plt.figure().add_subplot(projection="polar"), plt.hist([1, 2, 2]), plt.xticks(rotation=45), plt.tight_layout()
for each in map(plt.figure, plt.get_fignums()):
    for kind in ("png", "svg", "jpg"):
        each.savefig(io.BytesIO(), format=kind, bbox_inches="tight")
plt.close("all")
""",
}
"""Ordinary use of a package, which makes it load submodules, fonts and caches: one entry per package."""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Numeric libraries start threads when they are loaded; a process with threads cannot be locked."""
_FOLDERS = ("HOME", "TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
_CODE = frozenset({".py", ".pyc", ".pyi", ".so", ".pyx", ".pxd", ".h", ".c", ".a"})
_LARGEST_FILE = 4 << 20
_MOST_BYTES = 64 << 20
_data: dict[str, bytes] = {}


def _load_packages(modules: Iterable[str]) -> dict[str, str]:
    """Load packages; return those that failed, with the reason."""
    failed: dict[str, str] = {}
    names = list(modules)
    if not names:
        return failed
    folder = tempfile.mkdtemp(prefix="halflap-")
    os.environ.update(dict.fromkeys(_THREADS, "1"), **dict.fromkeys(_FOLDERS, folder))
    tempfile.tempdir = None
    try:
        for name in names:
            try:
                _load(name)
            except Exception as error:  # noqa: BLE001 -- a package may raise anything
                failed[name] = f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if _data:
        _open_from_memory()
    return failed


def _load(name: str) -> None:
    module = importlib.import_module(name)
    # Some packages load a part only when it is asked for.
    for member in dir(module):
        with contextlib.suppress(Exception):
            getattr(module, member)
    package = name.partition(".")[0]
    if package in _WARM_UP:
        exec(_WARM_UP[package], {})  # noqa: S102 -- our own lines
    _keep_data(sys.modules[package])


def _keep_data(package: ModuleType) -> None:
    """Read the data files of a package, such as fonts and styles, into memory."""
    for folder in getattr(package, "__path__", ()):
        for file in Path(folder).rglob("*"):
            if file.suffix in _CODE or "tests" in file.parts or "sample_data" in file.parts:
                continue
            with contextlib.suppress(OSError):
                size = file.stat().st_size
                if (
                    file.is_file()
                    and size <= _LARGEST_FILE
                    and sum(map(len, _data.values())) + size <= _MOST_BYTES
                ):
                    _data[str(file)] = file.read_bytes()


def _open_from_memory() -> None:
    """Let `open` find the data files in memory; any other file is opened as usual, which fails in a locked process."""
    real: Callable[..., Any] = io.open

    def opened(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        data = None
        if mode in {"r", "rt", "rb"} and isinstance(file, str | os.PathLike):
            data = _data.get(os.fspath(file))
        if data is None:
            return real(file, mode, *more, **options)
        raw = io.BytesIO(data)
        return raw if "b" in mode else io.TextIOWrapper(raw, options.get("encoding") or "utf-8")

    # A program that prints a traceback sees no file of ours.
    opened.__code__ = opened.__code__.replace(co_filename="<open>", co_name="open")
    io.open = builtins.open = opened
    for name in ("exists", "isfile"):
        setattr(os.path, name, _in_memory_or(getattr(os.path, name)))


def _in_memory_or(real: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def answer(path: Any) -> bool:
        return (isinstance(path, str | os.PathLike) and os.fspath(path) in _data) or real(path)

    answer.__code__ = answer.__code__.replace(co_filename="<path>", co_name="answer")
    return answer


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
