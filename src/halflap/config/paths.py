"""The user's folders for configuration and data, and paths as people write them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

_NAME = "halflap"


def user_config_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's configuration file; `HALFLAP_CONFIG_DIR` overrides it."""
    return _chosen("HALFLAP_CONFIG_DIR", environ) or platformdirs.user_config_path(_NAME, appauthor=False)


def user_data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of Halflap's data; `HALFLAP_DATA_DIR` overrides it."""
    return _chosen("HALFLAP_DATA_DIR", environ) or platformdirs.user_data_path(_NAME, appauthor=False)


def _chosen(variable: str, environ: Mapping[str, str] | None) -> Path | None:
    environ = os.environ if environ is None else environ
    folder = environ.get(variable)
    return path_from(folder, working_folder(), home_dir(environ)) if folder else None


def working_folder() -> Path:
    """Return the current folder, or a nonexistent one if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/nonexistent")


def home_dir(environ: Mapping[str, str]) -> Path:
    """Return the user's home folder."""
    for name in ("HOME", "USERPROFILE"):
        if environ.get(name) and Path(environ[name]).is_absolute():
            return Path(environ[name])
    try:
        return Path.home()
    except RuntimeError:
        # No HOME and no passwd entry, as in some containers.
        return Path("/nonexistent")


def with_home(text: str, home: Path) -> str:
    """Replace a leading `~` by the home folder."""
    if text == "~" or text.startswith("~/"):
        return str(home) + text[1:]
    return text


def path_from(text: str, folder: Path, home: Path) -> Path:
    """Return the absolute path of a text relative to a folder, without resolving links."""
    return Path(os.path.normpath(working_folder() / folder / with_home(text, home)))
