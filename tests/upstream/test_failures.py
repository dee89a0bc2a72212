"""Why a server is not ready: what its log says, certificates that are not accepted, proxies that refuse."""

from __future__ import annotations

import datetime as dt
import http.server
import ipaddress
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from halflap import Gateway
from halflap.upstream.connection import telling_lines
from support import python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NPX = """\
npm error code E404
npm error 404 Not Found - GET https://packages.example.com/@nope%2fdoes-not-exist
npm error 404
npm error 404  The requested resource '@nope/does-not-exist@*' could not be found.
npm notice
npm notice New major version of npm available! 10.9.3 -> 11.6.2
npm error A complete log of this run can be found in: /home/me/.npm/_logs/x-debug-0.log"""
NODE = """\
node:internal/modules/cjs/loader:1215
  throw err;

Error: Cannot find module '/srv/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1212:15)
  requireStack: []
}

Node.js v20.19.0"""


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (NPX, "404 Not Found - GET"),
        (NODE, "Error: Cannot find module '/srv/index.js'"),
        ("one\ntwo\n\nthree\nfour", "two three four"),
    ],
)
def test_of_a_long_log_the_first_errors_and_the_last_line_are_shown(log: str, shown: str) -> None:
    lines = telling_lines(log.splitlines())
    assert len(lines) <= 3
    assert shown in " ".join(lines)


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1 that is self-signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return files


@contextmanager
def refusing(status: int, tls: tuple[Path, Path] | None = None) -> Iterator[str]:
    """Run a web server, or proxy, that answers every request with a status; yield its host and port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def refuse(self) -> None:
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST = do_DELETE = do_CONNECT = refuse  # noqa: N815 -- the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


EXPECTED = {
    "self-signed": ("certificate-not-accepted", "127.0.0.1", "SSL_CERT_FILE"),
    "proxy refuses": ("proxy-failed", "407", "HTTPS_PROXY"),
    "proxy away": ("proxy-failed", "127.0.0.1:9", "NO_PROXY"),
    "python": ("process-ended", "CERTIFICATE_VERIFY_FAILED", "terminal"),
}


async def test_certificate_and_proxy_failures_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing(407) as proxy, refusing(401, self_signed(tmp_path)) as tls:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@{proxy}")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        line = "ssl.SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"
        servers = [
            {"name": "self-signed", "url": f"https://{tls}/mcp"},
            {"name": "proxy refuses", "url": "https://mcp.example.com/mcp"},
            {"name": "proxy away", "url": "http://mcp.example.com/mcp"},
            python_server("python", "unwilling.py", "fails", line),
        ]
        async with Gateway.open({"servers": servers}) as gateway:
            examined = await gateway.examine()
    findings = {one["server"]: one for one in examined["findings"] if one["server"]}
    assert {name: findings[name]["code"] for name in EXPECTED} == {
        name: code for name, (code, _, _) in EXPECTED.items()
    }
    for name, (_, what, todo) in EXPECTED.items():
        assert what in findings[name]["what"]
        assert todo in findings[name]["todo"]
        assert "hunter2" not in findings[name]["what"]


def test_a_certificate_in_ssl_cert_file_is_accepted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = self_signed(tmp_path)

    async def trouble(url: str) -> str | None:
        async with Gateway.open({"servers": [{"name": "web", "url": url}]}) as gateway:
            await gateway.refresh()
            (status,) = await gateway.statuses()
            return status.trouble

    with refusing(401, files) as host:
        monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
        assert run(trouble(f"https://{host}/mcp")) == "sign-in-needed"
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
        assert run(trouble(f"https://{host}/mcp")) == "certificate-not-accepted"


async def test_a_proxy_that_cannot_be_used_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "strange://127.0.0.1:9")
    server = {"name": "web", "url": "https://mcp.example.com/mcp"}
    async with Gateway.open({"servers": [server]}) as gateway:
        await gateway.refresh()
        (status,) = await gateway.statuses()
        assert status.trouble == "proxy-failed"
