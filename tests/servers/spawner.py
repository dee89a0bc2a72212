"""A server that leaves processes behind: a child in a session of its own, and a daemon that ignores SIGTERM.

The pids go to the file given by `--pids`: the server's, the child's, the daemon's, one per line.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

SLEEP = ["sleep", "1000"]


def start_child() -> int:
    child = subprocess.Popen(
        SLEEP,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return child.pid


def start_daemon() -> int:
    """Fork twice with setsid in between, so that the daemon's parent is gone when it starts."""
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            # What is ignored stays ignored in the program that takes over.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            os.write(writer, str(os.getpid()).encode())
            os.execvp(SLEEP[0], SLEEP)
        os._exit(0)
    os.close(writer)
    os.waitpid(middle, 0)
    with os.fdopen(reader) as pipe:
        return int(pipe.read())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pids", type=Path, required=True, metavar="FILE")
    file: Path = parser.parse_args().pids
    pids = [os.getpid(), start_child(), start_daemon()]
    # Renamed into place, so that whoever waits for the file never reads half of it.
    partial = file.with_name(file.name + ".partial")
    partial.write_text("".join(f"{pid}\n" for pid in pids), encoding="utf-8")
    partial.rename(file)
    # It serves as one that takes no time to start; its pid stays.
    os.execv(sys.executable, [sys.executable, str(Path(__file__).with_name("swift.py"))])


if __name__ == "__main__":
    main()
