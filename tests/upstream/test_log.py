from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.calls import Redactor
from halflap.upstream.log import ServerLog

if TYPE_CHECKING:
    from pathlib import Path


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_chatty_server_fills_neither_memory_nor_disk(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "logs", "chatty")
    for number in range(2000):
        log.append(f"{number:06d} {'x' * 1000}\n".encode())
    assert size_of(tmp_path) < 600_000
    assert len("".join(log.recent(1000))) <= 16 * 1024
    assert log.tail(1)[0].startswith("001999")


def test_one_huge_write_is_cut(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "logs", "chatty")
    log.append(b"y" * 5_000_000)
    assert size_of(tmp_path) < 600_000


def test_another_process_can_read_what_was_said(tmp_path: Path) -> None:
    ServerLog(tmp_path, "server").append(b"first\nlast words\n")
    assert ServerLog(tmp_path, "server").tail() == ["first", "last words"]


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "logs", "server")
    log.append(b"secret\n")
    assert log.path is not None
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert log.path.parent.stat().st_mode & 0o777 == 0o700


def test_names_that_are_no_file_names_stay_apart_and_inside(tmp_path: Path) -> None:
    logs = [ServerLog(tmp_path, name) for name in ("../../etc/passwd", "a/b", "a_b", "a.b", "x" * 300)]
    for log in logs:
        log.append(b"here\n")
    assert len({log.path for log in logs}) == len(logs)
    assert all(log.path is not None and log.path.parent == tmp_path and log.path.exists() for log in logs)


def test_what_is_shown_has_no_control_characters(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, "server")
    log.append(b"\x1b[31mred\x1b[0m \x07bell \xff\xfe\n")
    (line,) = log.tail()
    assert line.startswith("red bell")
    assert "\x1b" not in line


def test_a_log_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    log = ServerLog(tmp_path / "logs", "server")
    log.append(b"said anyway\n")
    assert log.tail() == ["said anyway"]


def test_no_part_of_a_secret_is_shown_where_the_log_is_cut(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, "server", Redactor(["supersecretvalue99"]).text)
    for gap in (499, 490):
        log.append(b"y" * gap + b"supersecretvalue99\n")
    for after in (16 * 1024 - 30, 16 * 1024 - 20):
        log.append(b"\nsupersecretvalue99 said\n" + b"x" * after + b"\n")
        assert not any("secret" in line or "value99" in line for line in log.tail())
