"""Keeps what the environment says of language models from their clients: keys, addresses and accounts come from the configuration."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["environment_hidden"]

_HIDDEN: ContextVar[bool] = ContextVar("halflap_dspy_environment", default=False)
_LOCK = threading.Lock()

_OF_THE_MACHINE: Final = frozenset({
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL", "TEMP", "TMP", "TMPDIR", "TZ", "USER",
    # How this machine reaches others, and which certificates it believes.
    "ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "REQUEST_METHOD",
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "SSLKEYLOGFILE",
    # Said by Halflap itself.
    "LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_MODE",
})  # fmt: skip
"""All that is seen. The clients know hundreds of names for keys and addresses, and learn new ones: none has to be listed."""
_KINDS_OF_THE_MACHINE: Final = ("LC_", "PYTHON", "XDG_")


@contextmanager
def environment_hidden() -> Iterator[None]:
    """Show nothing of the environment to what is done within but what it says of the machine.

    Other tasks and threads see all of it all the while.
    """
    _guard()
    token = _HIDDEN.set(True)
    try:
        yield
    finally:
        _HIDDEN.reset(token)


def _is_shown(key: Any) -> bool:
    if not _HIDDEN.get() or not isinstance(key, str):
        return True
    name = key.upper()
    return name in _OF_THE_MACHINE or name.startswith(_KINDS_OF_THE_MACHINE)


def _guard() -> None:
    """Have the environment ask before it says anything. It is one object for all, so it is the object that has to ask."""
    with _LOCK:
        kind: Any = type(os.environ)
        if getattr(kind, "asks_first", False):
            return

        class Asking(kind):  # type: ignore[misc]  # known only when it is run
            """The environment, for whoever may see it."""

            asks_first = True

            def __getitem__(self, key: str) -> str:
                if not _is_shown(key):
                    raise KeyError(key)
                found: str = super().__getitem__(key)
                return found

            def __iter__(self) -> Iterator[str]:
                return (key for key in super().__iter__() if _is_shown(key))

            def __len__(self) -> int:
                return sum(1 for _ in self)

        os.environ.__class__ = Asking
