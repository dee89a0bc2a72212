"""The modes that this machine offers, and what the host has that an attacker would want."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import pytest

from security.attack import Attacker, Loot
from security.keeper import LOCKED, Keeper
from security.user import OrdinaryUser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.fixtures import SubRequest

# The attacks have the system call numbers of x86_64 only.
collect_ignore = (
    [] if platform.machine() == "x86_64" else ["test_attacks.py", "test_syscalls.py", "test_resources.py"]
)

_AS_USER = [f"{mode}-as-user" for mode in LOCKED]


@pytest.fixture(scope="session")
def keeper() -> Iterator[Keeper]:
    keeper = Keeper()
    yield keeper
    keeper.close()


@pytest.fixture(scope="session")
def ordinary_user() -> Iterator[OrdinaryUser]:
    if os.getuid() != 0:
        pytest.skip("the tests run as an ordinary user already: the other modes are as that user")
    user = OrdinaryUser()
    yield user
    user.close()


@pytest.fixture(scope="session")
def loot() -> Iterator[Loot]:
    loot = Loot()
    yield loot
    loot.close()


_EVERY_TIME = ("all-layers", "seccomp-alone-as-user")
"""The strongest and the weakest mode; `make test-all` runs those in between."""


def _modes() -> list[object]:
    return [
        mode if mode in _EVERY_TIME else pytest.param(mode, marks=pytest.mark.slow)
        for mode in (*LOCKED, *_AS_USER)
    ]


@pytest.fixture(scope="session", params=_modes())
def locked(request: SubRequest, keeper: Keeper, loot: Loot) -> Attacker:
    """An attacker behind locks, in each mode: as who runs the tests, and as an ordinary user."""
    mode: str = request.param
    if mode in _AS_USER:
        user: OrdinaryUser = request.getfixturevalue("ordinary_user")
        return Attacker(lambda code: user.run(mode.removesuffix("-as-user"), code), loot)
    return Attacker(lambda code: keeper.run(mode, code), loot)


@pytest.fixture(scope="session")
def unlocked(keeper: Keeper, loot: Loot) -> Attacker:
    """An attacker without any lock, to show that the probe itself works."""
    return Attacker(lambda code: keeper.run("control", code), loot)
