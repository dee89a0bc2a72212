"""The tables of system call numbers; `tests/security` tries what the filters let through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from halflap.sandbox.jail.inside.seccomp import build, table


def test_a_machine_that_we_do_not_know_gets_no_filter() -> None:
    with pytest.raises(OSError, match="riscv64"):
        build("riscv64")


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip(f"needs the kernel's header {header}")
    pattern = r"^#define __NR(?:3264)?_(\w+)\s+(\d+)"
    real = {name: int(number) for name, number in re.findall(pattern, path.read_text(), re.MULTILINE)}
    ours = table(machine)
    wrong = {name: (number, real[name]) for name, number in ours.items() if real.get(name, number) != number}
    assert wrong == {}
