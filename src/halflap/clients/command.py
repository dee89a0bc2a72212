"""How a client starts Halflap: by a command that needs nobody's PATH and nobody's variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.config import home_dir, path_from, user_config_dir, user_data_dir, working_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_passing", "own_command", "own_variables"]


def own_command(executable: str, config: Path | None, home: Path) -> list[str]:
    """Give the command; a configuration that was named is passed on."""
    script = Path(executable).with_name("halflap.exe" if os.name == "nt" else "halflap")
    # The script beside the interpreter names that interpreter itself; it is what a person would look for.
    command = (
        [str(script)] if os.access(script, os.X_OK) and script.is_file() else [executable, "-m", "halflap"]
    )
    named = [] if config is None else ["--config", str(path_from(str(config), working_folder(), home))]
    return [*command, "serve", *named]


def own_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Give what Halflap finds its files by, where variables of the shell say so that a client may not have."""
    home = home_dir(environ)
    without = {"HOME": str(home)}
    found = {}
    if environ.get("HALFLAP_CONFIG"):
        found["HALFLAP_CONFIG"] = str(path_from(environ["HALFLAP_CONFIG"], working_folder(), home))
    elif (folder := user_config_dir(environ)) != user_config_dir(without):
        found["HALFLAP_CONFIG_DIR"] = str(folder)
    if (folder := user_data_dir(environ)) != user_data_dir(without):
        found["HALFLAP_DATA_DIR"] = str(folder)
    return found


def is_passing(executable: str) -> bool:
    """Say whether Halflap runs from a cache that may be emptied at any time, as with uvx and `pipx run`."""
    parts = Path(executable).parts
    return any(part.startswith("archive-v") for part in parts) or {".cache", "pipx"} <= set(parts)
