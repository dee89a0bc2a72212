"""A program that plays ty in the check: an interpreter with the probe, in a folder that every user can read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.check.room import PATIENT, Room
from security.attack import NUMBERS
from support import ROOT

if TYPE_CHECKING:
    from halflap.sandbox.check.process import Orders
    from security.attack import Loot

_NEEDED = "__future__, ctypes, errno, json, mmap, os, signal, socket, sys, typing"
_ASK = f"""
import {_NEEDED}
files = [module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)]
with open("/proc/self/maps") as maps:
    libraries = {{line.split()[-1] for line in maps if ".so" in line}}
print(json.dumps([sys.base_prefix, files, sorted(libraries - set(files))]))
"""


@dataclass(frozen=True)
class Seen:
    """What the probe reported about its process, and what it got."""

    facts: dict[str, Any]
    got: dict[str, str]
    refused: dict[str, str]


def seen(told: dict[str, str]) -> Seen:
    return Seen(
        json.loads(told["facts"]),
        {name: said for name, said in told.items() if said.startswith("got")},
        {name: said for name, said in told.items() if said.startswith("refused")},
    )


class StandIn:
    """An interpreter with only what the probe needs."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="halflap-stand-in-"))
        self.home.chmod(0o755)
        asked = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-c", _ASK], capture_output=True, text=True, check=True
        )
        prefix, files, libraries = json.loads(asked.stdout)
        for file in map(Path, files):
            target = self.home / file.relative_to(prefix)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self._python = self.home / "bin" / name
        self._python.parent.mkdir()
        shutil.copy(os.path.realpath(sys.executable), self._python)
        for library in libraries:
            # It is looked up with the first number only.
            short = re.sub(r"(\.so\.\d+).*", r"\1", Path(library).name)
            shutil.copy(library, self.home / "lib" / short)
            shutil.copy(library, self.home / "lib")
        # Started through the loader, because its library may be in a folder that not every user can read.
        self._loader = next(library for library in libraries if Path(library).name.startswith("ld-"))
        # By this folder the interpreter knows that the library is here.
        (self.home / "lib" / name / "lib-dynload").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / "security" / "probe.py", self.home)

    def orders(self, attacks: str, loot: Loot, **switches: bool) -> Orders:
        known = json.dumps(loot.known | {"attacks": attacks, "numbers": NUMBERS})
        return replace(
            PATIENT,
            command=(
                self._loader, "--library-path", str(self.home / "lib"),
                str(self._python), "-I", "-S", "-B", str(self.home / "probe.py"), known,
            ),
            also=(str(self.home),),
            **switches,
        )  # fmt: skip

    def attack(self, attacks: str, loot: Loot, **switches: bool) -> Seen:
        with Room(self.orders(attacks, loot, **switches)) as room:
            told = {one.rule: one.message for one in room.diagnostics("x = 1")}
        return seen(told)

    def ending(self, attacks: str, loot: Loot, **switches: bool) -> str:
        """Return why it ended; empty if it did not fail."""
        with Room(self.orders(attacks, loot, **switches)) as room:
            return room.skipped("x = 1")

    def close(self) -> None:
        shutil.rmtree(self.home)
