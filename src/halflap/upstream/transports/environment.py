"""The environment variables of a server process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.config import ServerConfig

__all__ = ["server_environment"]

_PASSED = frozenset(
    {
        *("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("DISPLAY", "WAYLAND_DISPLAY"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)
_PASSED_PREFIXES = ("LC_", "XDG_")


def server_environment(server: ServerConfig) -> dict[str, str]:
    """Return what the server inherits of our environment, and its own `env`.

    A server is somebody else's program: it gets what programs need to run and to reach the network, not the tokens
    in the user's shell. `inherit_env` passes on more.
    """
    if server.inherit_env is True:
        inherited = dict(os.environ)
    else:
        more = server.inherit_env or ()
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in _PASSED or name.startswith(_PASSED_PREFIXES) or name in more
        }
    return {**inherited, **server.env}
