"""Loads what programs may import, before the process is locked: after that no file can be opened."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import re
import sys
import time
import warnings
import zoneinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.sandbox.jail.inside import packages

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

__all__ = ["preload"]

_LEFT_OUT = frozenset(
    {
        # They open a window or a browser, print something, are tests, or install packages.
        "antigravity", "this", "idlelib", "tkinter", "_tkinter", "turtle", "turtledemo", "test", "ensurepip",
        "lib2to3", "pydoc_data", "venv", "webbrowser", "curses", "readline", "rlcompleter",
        # They are useless without processes and files, or change how Python itself behaves.
        "multiprocessing", "distutils", "msilib", "nt", "ntpath", "winreg", "winsound", "_winapi", "site",
        "sitecustomize", "usercustomize", "__main__", "cgi", "cgitb", "crypt", "nntplib", "smtpd", "asynchat",
        "asyncore", "imp", "pipes", "telnetlib", "uu", "xdrlib", "audioop", "nis", "ossaudiodev", "spwd",
        "sndhdr", "sunau", "chunk", "aifc", "imghdr", "mailcap",
        # They replace what exists in C.
        "_pydecimal", "_pyio", "_curses", "_curses_panel", "_aix_support", "_osx_support", "_bootsubprocess",
    }
)  # fmt: skip

_PACKAGES = (
    "asyncio", "collections", "email", "email.mime", "html", "importlib", "json", "os", "urllib", "xml.dom",
    "xml.etree", "xml.sax", "zoneinfo",
)  # fmt: skip
"""Packages of the standard library whose inner modules people import by name."""


_MORE = (
    "concurrent.futures.thread", "ctypes.util", "http.client", "http.cookiejar", "http.cookies", "logging.config",
    "logging.handlers", "unittest.mock", "wsgiref.util", "xml.dom.minidom", "xml.sax.saxutils", "xmlrpc.client",
)  # fmt: skip

_NO_ENCODINGS = re.compile(r"mbcs|oem")
"""Only on Windows."""


def preload(modules: Iterable[str]) -> dict[str, str]:
    """Import the standard library and further modules; return those that failed, with the reason."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    # Some modules print when they are imported, or warn that they will be gone.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for name in sorted(sys.stdlib_module_names - _LEFT_OUT):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        for name in _MORE:
            importlib.import_module(name)
        for package in _PACKAGES:
            _load_inner(package)
        _load_inner("encodings", _NO_ENCODINGS)
        failed = packages.load(modules)
    _keep_time_zones()
    os.environ.clear()
    return failed


def _load_inner(package: str, unwanted: re.Pattern[str] | None = None) -> None:
    module = importlib.import_module(package)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if inner.name.startswith("__") or "windows" in inner.name:
            continue
        if unwanted is not None and unwanted.fullmatch(inner.name):
            continue
        with contextlib.suppress(Exception):
            importlib.import_module(f"{package}.{inner.name}")


def _keep_time_zones() -> None:
    """Read every time zone into memory, and let `zoneinfo` look there."""
    known: dict[str, bytes] = {}
    for folder in map(Path, zoneinfo.TZPATH):
        for name in zoneinfo.available_timezones() if folder.is_dir() else ():
            with contextlib.suppress(OSError):
                known.setdefault(name, (folder / name).read_bytes())
    if not known:
        with contextlib.suppress(ImportError, OSError):
            known = _zones_of_package(importlib.import_module("tzdata"))

    def load(key: str) -> io.BytesIO:
        if key not in known:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(known[key])

    common: Any = importlib.import_module("zoneinfo._common")
    common.load_tzdata = load
    zoneinfo.reset_tzpath([])
    zoneinfo.available_timezones = lambda: set(known)


def _zones_of_package(package: ModuleType) -> dict[str, bytes]:
    root = Path(package.__path__[0]) / "zoneinfo"
    names = (root.parent / "zones").read_text(encoding="utf-8").split()
    return {name: (root / name).read_bytes() for name in names}
