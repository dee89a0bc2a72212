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


def test_names_that_are_no_file_names_stay_apart_and_inside(tmp_path: Path) -> None:
    logs = [ServerLog(tmp_path, name) for name in ("../../etc/passwd", "a/b", "a_b", "a.b", "x" * 300)]
    for log in logs:
        log.append(b"here\n")
    assert len({log.path for log in logs}) == len(logs)
    assert {log.path and log.path.parent for log in logs} == {tmp_path}


def test_another_process_of_its_owner_reads_it_without_control_characters(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "logs", "server")
    log.append(b"\x1b[31mred\x1b[0m \x07bell \xff\xfe\n")
    assert log.path is not None
    assert [path.stat().st_mode & 0o777 for path in (log.path, log.path.parent)] == [0o600, 0o700]
    (line,) = ServerLog(tmp_path / "logs", "server").tail()
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
    log.append(
        b"-----BEGIN RSA PRIVATE KEY-----\n" + b"MIIEsecret/\n" * 40 + b"-----END RSA PRIVATE KEY-----\n"
    )
    log.append(b"x" * 16_200 + b"\nlast\n")
    assert not any("secret" in line for line in log.tail(1_000))
    assert log.tail(1) == ["last"]


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def written(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*.log*"))


def test_the_file_has_no_secret_however_the_server_writes_it(tmp_path: Path) -> None:
    key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIEXAMPLEEXAMPLE\nAwEHoUQDQgAEEXAMPLE\n-----END EC PRIVATE KEY-----\n"
    said = f"started with {TOKEN}\npassword=hunter2hunter2\n{key}done {TOKEN}".encode()
    for size in (1, 7, 64, 10_000):
        log = ServerLog(tmp_path / str(size), "server", Redactor().text)
        for start in range(0, len(said), size):
            log.append(said[start : start + size])
        log.end()
        kept = written(tmp_path / str(size))
        assert "started with" in kept
        assert "done" in kept
        assert not any(secret in kept for secret in (TOKEN, TOKEN[4:], "hunter2", "EXAMPLE"))


def test_of_a_line_without_end_nothing_is_written(tmp_path: Path) -> None:
    log = ServerLog(tmp_path, "server", Redactor().text)
    for _ in range(3):
        log.append(b"x" * 16_000 + TOKEN[:20].encode())
        log.append(TOKEN[20:].encode())
    log.append(b"\nafterwards\n")
    assert TOKEN[20:] not in written(tmp_path)
    assert written(tmp_path).splitlines()[-1] == "afterwards"


def test_a_flood_costs_no_more_than_one_file_of_redaction(tmp_path: Path) -> None:
    redacted = 0

    def redact(text: str) -> str:
        nonlocal redacted
        redacted += len(text)
        return text

    log = ServerLog(tmp_path, "server", redact)
    for _ in range(200):
        log.append(b"x" * 63 + b"\n" + b"y" * 65_471 + b"\n")
    assert redacted <= 256 * 1024 + 200
    assert "left out" in written(tmp_path)
