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
_PACKAGES = ("pydantic", "annotated_types", "typing_extensions", "typing_inspection")
"""What the check needs."""
_NOT_NEEDED = shutil.ignore_patterns(
    "site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "config-*", "turtledemo"
)


class OrdinaryUser:
    """A process of a user without privileges, which runs `security.warden`."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="halflap-user-"))
        self._home.chmod(0o755)
        source = self._home / "src"
        shutil.copytree(ROOT / "src", source, copy_function=_link)
        (source / "security").mkdir()
        for name in ("security/warden.py", "security/keeper.py", "loop_thread.py"):
            shutil.copy(ROOT / "tests" / name, source / name)
        installed = Path(sysconfig.get_path("purelib"))
        for found in (path for package in _PACKAGES for path in installed.glob(f"{package}*")):
            if found.is_dir():
                shutil.copytree(found, source / found.name, copy_function=_link)
            else:
                _link(str(found), str(source / found.name))
        self._python, libraries = self._interpreter()
        self._process = subprocess.Popen(
            [self._python, "-B", "-S", "-m", "security.warden"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
            user=USER, group=USER, extra_groups=[],
            env={"PYTHONPATH": str(source)} | libraries,
        )  # fmt: skip

    def _interpreter(self) -> tuple[str, dict[str, str]]:
        """Return an interpreter that the user can run: ours, or a copy if it is in a private folder."""
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
        """Return a path at which the user finds a file of ours."""
        target = self._home / Path(path).name
        if not target.exists():
            _link(path, str(target))
        return str(target)

    def ask(self, order: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, mode: str, code: str) -> Got:
        answer = self.ask({"mode": mode, "code": code})
        return Got(**answer | {"output": answer["output"].encode()})

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
        shutil.rmtree(self._home)


def _link(source: str, target: str) -> None:
    """Link a file, or copy it where that is impossible."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)
