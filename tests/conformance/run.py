"""Run the official conformance suite against Halflap: its front, transparent before a test server, and its client.

    python run.py [--bare]

Every scenario that a revision requires has to pass. `--bare` tests the test server itself. What the suite says is in `results/`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance"
RESULTS = HERE / "results"
REVISIONS = {"2025-11-25": "legacy", "2026-07-28": "modern"}
"""With the era that the test server is spoken to in."""
TIMEOUT = "300000"
"""Milliseconds for one scenario, on a busy machine."""
WRONG: dict[str, str] = {}
"""Scenarios in which the suite is wrong, with the reason; docs/pass-through.md has them, too."""
_LINE = re.compile(r"^([✓✗]) (\S+):", re.MULTILINE)


@contextmanager
def running(*command: str, environment: dict[str, str] | None = None) -> Iterator[str]:
    """Start a program and give the first line that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def suite(name: str, *arguments: str) -> tuple[int, str]:
    node = MODULES / "node" / "bin" / "node"
    command = [str(node), str(SUITE / "dist" / "index.js"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=RESULTS)
    (RESULTS / f"{name}.txt").write_text(done.stdout + done.stderr)
    return done.returncode, done.stdout


def required(revision: str, leg: str) -> list[str]:
    names: list[str] = yaml.safe_load((SUITE / "requirements" / f"{revision}.yaml").read_text())[leg]
    return names


def server_leg(revision: str, url: str) -> set[str]:
    """Return the scenarios that pass."""
    _, said = suite(f"server-{revision}", "server", "--url", url, "--requirements", revision)
    return {name for mark, name in _LINE.findall(said) if mark == "✓"}


def client_leg(revision: str) -> set[str]:
    command = f"{sys.executable} -W ignore {HERE / 'client.py'}"
    passed = set()
    for name in required(revision, "client"):
        given = ("--command", command, "--scenario", name, "--spec-version", revision, "--timeout", TIMEOUT)
        code, _ = suite(f"client-{revision}-{name.replace('/', '-')}", "client", *given)
        if code == 0:
            passed.add(name)
    return passed


def report(revision: str, leg: str, passed: set[str]) -> bool:
    """Print what passed, and return whether that is enough."""
    names = required(revision, leg)
    failed = [name for name in names if name not in passed]
    sys.stdout.write(
        f"{revision} {leg}: {len(names) - len(failed)} of {len(names)} required scenarios pass\n"
    )
    for name in failed:
        sys.stdout.write(f"  {name}: {WRONG.get(name, 'failed')}\n")
    sys.stdout.flush()
    return all(name in WRONG for name in failed)


def main() -> int:
    if not SUITE.exists():
        sys.stdout.write("The suite is not installed: `make conformance` needs npm.\n")
        return 1
    RESULTS.mkdir(exist_ok=True)
    fixture = HERE.parent / "servers" / "features.py"
    with tempfile.TemporaryDirectory() as home, running(sys.executable, str(fixture), "0") as url:
        if "--bare" in sys.argv:
            return int(sum(not report(one, "server", server_leg(one, url)) for one in REVISIONS) > 0)
        config = Path(home) / "config.yaml"
        servers = {era: {"url": url, "protocol": era} for era in REVISIONS.values()}
        config.write_text(yaml.safe_dump({"servers": servers}))
        environment = {**os.environ, "HALFLAP_DATA_DIR": home, "HALFLAP_CONFIG_DIR": home}
        front = (sys.executable, str(HERE / "front.py"), str(config))
        with running(*front, environment=environment) as address:
            enough = [
                report(revision, "server", server_leg(revision, f"{address}/servers/{era}/mcp"))
                for revision, era in REVISIONS.items()
            ]
    enough += [report(revision, "client", client_leg(revision)) for revision in REVISIONS]
    return int(not all(enough))


if __name__ == "__main__":
    sys.exit(main())
