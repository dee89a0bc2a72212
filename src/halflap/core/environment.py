"""The environment of child processes, without secrets, and how Halflap was installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PASSED = frozenset(
    {
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("DISPLAY", "WAYLAND_DISPLAY"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)
_PASSED_PREFIXES = ("LC_", "XDG_")


def machine_environment(*prefixes: str) -> dict[str, str]:
    """Return the variables that programs need to run and to reach the network.

    An allow-list, because keys and tokens have too many names to list.
    """
    passed = (*_PASSED_PREFIXES, *prefixes)
    # Proxies are also written in lower case.
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _PASSED or name.startswith(passed)
    }


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation."""
    prefix = Path(sys.prefix)
    tool = "pip install"
    if (prefix / "pipx_metadata.json").exists():
        tool = "pipx inject halflap"
    elif (prefix / "uv-receipt.toml").exists():
        tool = "uv tool install"
    return f"{tool} 'halflap[{extra}]'"
