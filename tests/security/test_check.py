"""What a ty that a program took over could reach: nothing outside its folder, and it can't write there."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from halflap.sandbox.check.process import find_ty
from sandbox.check.room import PATIENT, Room
from security.stand_in import Seen, StandIn, seen
from security.user import USER, OrdinaryUser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.fixtures import SubRequest

    from security.attack import Loot

MODES: dict[str, dict[str, bool]] = {
    "all-layers": {},
    "no-namespaces": {"namespaces": False},
    "no-landlock": {"landlock": False},
    "seccomp-alone": {"namespaces": False, "landlock": False},
}
READING = {
    "read a file that all may read", "read who the users are", "list a folder that all may list", "list the root",
    "read the gateway's command line", "read its own command line",
}  # fmt: skip
CONTROL = MODES["seccomp-alone"] | {"lockdown": False}
DEADLY = (
    "trace",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in (
            "read another's memory", "set up io_uring", "load a program into the kernel", "make namespaces",
            "mount", "use the kernel's keys",
        )
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def stand_in(loot: Loot) -> Iterator[StandIn]:
    private = loot.folder / "private"
    private.write_text("private")
    private.chmod(0o600)
    if os.getuid() == 0:
        os.chown(private, USER, USER)
    made = StandIn()
    yield made
    made.close()


@pytest.fixture(
    scope="module",
    params=[
        "all-layers",
        pytest.param("no-namespaces", marks=pytest.mark.slow),
        pytest.param("no-landlock", marks=pytest.mark.slow),
        "seccomp-alone",
    ],
)
def reached(request: SubRequest, stand_in: StandIn, loot: Loot) -> tuple[str, Seen]:
    """A mode, and what is reached in it."""
    return request.param, stand_in.attack("everything", loot, **MODES[request.param])


def test_it_reaches_nothing(reached: tuple[str, Seen]) -> None:
    mode, found = reached
    # Without Landlock and namespaces, files that every user of the machine may read are read.
    readable = READING if mode == "seccomp-alone" else set()
    assert set(found.got) <= readable
    assert not readable or "read a file that all may read" in found.got
    assert len(found.refused) > 30


@pytest.mark.slow
def test_without_locks_it_reaches_much(stand_in: StandIn, loot: Loot) -> None:
    found = stand_in.attack("everything", loot, **CONTROL)
    # What an unprivileged user of the machine cannot do anyway.
    denied = {
        "read a file of the gateway's user", "see the gateway", "become another", "see its parent's limits",
        "change its parent's limits",
    }  # fmt: skip
    assert set(found.refused) <= denied | {"make a session", "leave its group"}


def test_it_has_three_descriptors_and_an_environment_of_ours(reached: tuple[str, Seen]) -> None:
    facts = reached[1].facts
    assert facts["open"] == [0, 1, 2]
    assert set(facts["environment"]) <= {
        "HOME", "TY_MAX_PARALLELISM", "MALLOC_ARENA_MAX", "LD_LIBRARY_PATH", "LC_CTYPE",
    }  # fmt: skip
    assert facts["files"] == ["__builtins__.pyi"]


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user's ty is that user")
def test_for_root_it_is_another_user(reached: tuple[str, Seen]) -> None:
    assert 0 not in {reached[1].facts["user"], reached[1].facts["group"]}


@pytest.mark.parametrize("name", DEADLY)
def test_what_ty_never_does_ends_it(name: str, stand_in: StandIn, loot: Loot) -> None:
    assert stand_in.ending(name, loot).startswith("ty failed")


@pytest.mark.parametrize("name", DEADLY)
@pytest.mark.slow
def test_without_locks_that_does_not_end_it(name: str, stand_in: StandIn, loot: Loot) -> None:
    assert stand_in.ending(name, loot, **CONTROL) == ""


def test_it_runs_nothing_else(stand_in: StandIn, loot: Loot) -> None:
    assert stand_in.attack("shell", loot).refused == {"run a shell": "refused: ENOENT"}


@pytest.mark.slow
def test_without_namespaces_it_runs_nothing_else(stand_in: StandIn, loot: Loot) -> None:
    seen = stand_in.attack("shell", loot, **MODES["no-namespaces"])
    assert seen.refused == {"run a shell": "refused: EACCES"}


@pytest.mark.slow
def test_without_locks_it_runs_a_shell(stand_in: StandIn, loot: Loot) -> None:
    assert stand_in.ending("shell", loot, **CONTROL).startswith("ty failed")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_ty_itself_works_in_every_mode_and_the_mode_is_told(mode: str) -> None:
    switches: dict[str, Any] = MODES[mode]
    with Room(PATIENT.__class__(seconds=20, cpu_seconds=20, **switches)) as room:
        assert [one.rule for one in room.diagnostics("x: int = 'a'")] == ["invalid-assignment"]
        report = room.do(room.examiner.ready()).report
        off = {name for name, why in report["missing"].items() if why == "switched off"}
        assert off == set(switches)
        assert not {layer.split()[0] for layer in report["layers"]} & off


# An ordinary user's gateway ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[] if mode == "all-layers" else pytest.mark.slow) for mode in MODES]
)
def test_an_ordinary_users_ty_works_in_every_mode(mode: str, ordinary_user: OrdinaryUser) -> None:
    orders = asdict(PATIENT) | MODES[mode] | {"command": (ordinary_user.lend(find_ty()), "server")}
    answer = ordinary_user.ask({"orders": orders, "code": "x: int = 'a'"})
    assert [one["rule"] for one in answer.get("diagnostics", [])] == ["invalid-assignment"], answer
    assert {name for name, why in answer["missing"].items() if why == "switched off"} == set(MODES[mode])


@pytest.mark.parametrize(
    ("mode", "got"),
    [
        ("all-layers", set()),
        pytest.param("no-namespaces", set(), marks=pytest.mark.slow),
        pytest.param("no-landlock", set(), marks=pytest.mark.slow),
        # Then it is that user, and nothing but the filter is in the way.
        pytest.param(
            "seccomp-alone", READING | {"read a file of the gateway's user"}, marks=pytest.mark.slow
        ),
    ],
)
def test_what_an_ordinary_users_ty_reaches(
    mode: str, got: set[str], ordinary_user: OrdinaryUser, stand_in: StandIn, loot: Loot
) -> None:
    orders = asdict(stand_in.orders("everything", loot, **MODES[mode]))
    answer = ordinary_user.ask({"orders": orders, "code": "x = 1"})
    told = {one["rule"]: one["message"] for one in answer.get("diagnostics", [])}
    assert "facts" in told, answer
    assert set(seen(told).got) == got
