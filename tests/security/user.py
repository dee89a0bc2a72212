"""An ordinary user's gateway, when the tests run as root: another user, who can read an interpreter and Halflap."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from security.keeper import Got
from support import ROOT

USER = 54_321
_NOT_NEEDED = shutil.ignore_patterns(
    "site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "config-*", "turtledemo"
)


class OrdinaryUser:
    """A process that runs as somebody without any privilege, and does what it is asked: a warden, if nothing else."""

    def __init__(
        self,
        module: str = "security.warden",
        needs: tuple[str, ...] = ("security/keeper.py", "loop_thread.py"),
        packages: tuple[str, ...] = (),
    ) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="halflap-user-"))
        self._home.chmod(0o755)
        shutil.copytree(ROOT / "src", self._home / "src", copy_function=_link)
        for name in (module.replace(".", "/") + ".py", *needs):
            (self._home / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "tests" / name, self._home / "src" / name)
        installed = Path(sysconfig.get_path("purelib"))
        for found in (path for package in packages for path in installed.glob(f"{package}*")):
            if found.is_dir():
                shutil.copytree(found, self._home / "src" / found.name, copy_function=_link)
            else:
                _link(str(found), str(self._home / "src" / found.name))
        self._python, libraries = self._interpreter()
        self._process = subprocess.Popen(
            [self._python, "-B", "-S", "-m", module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
            user=USER, group=USER, extra_groups=[],
            env={"PYTHONPATH": str(self._home / "src")} | libraries,
        )  # fmt: skip

    def _interpreter(self) -> tuple[str, dict[str, str]]:
        """Give an interpreter that the user can run: ours, or a copy of it if it lies in a private folder."""
        own = [os.path.realpath(sys.executable), "-I", "-S", "-c", "import asyncio"]
        try:
            if (
                subprocess.run(own, user=USER, group=USER, extra_groups=[], check=False, cwd="/").returncode
                == 0
            ):
                return own[0], {}
        except PermissionError:
            pass
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        prefix = self._home / "python"
        (prefix / "bin").mkdir(parents=True)
        shutil.copy(own[0], prefix / "bin" / name)
        library = Path(sysconfig.get_path("stdlib"))
        shutil.copytree(library, prefix / "lib" / name, ignore=_NOT_NEEDED, copy_function=_link)
        for shared in Path(sys.base_prefix, "lib").glob("libpython*.so*"):
            shutil.copy(shared, prefix / "lib")
        return str(prefix / "bin" / name), {"LD_LIBRARY_PATH": str(prefix / "lib")}

    def lend(self, path: str) -> str:
        """Give a path at which the user finds a file of ours."""
        target = self._home / Path(path).name
        if not target.exists():
            _link(path, str(target))
        return str(target)

    def ask(self, order: dict[str, Any]) -> Any:
        """Put a question to the warden."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, mode: str, code: str) -> Got:
        """Run a program as this user."""
        answer = self.ask({"mode": mode, "code": code})
        return Got(**answer | {"output": answer["output"].encode()})

    def close(self) -> None:
        """End it, and leave nothing."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
        shutil.rmtree(self._home)


def _link(source: str, target: str) -> None:
    """Give a file a second name; only where that is impossible, copy it."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)
