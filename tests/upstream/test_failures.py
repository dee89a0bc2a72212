"""Why a server is not ready: certificates that are not accepted, proxies that refuse, what its log says."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from halflap import Gateway
from servers.web import answering
from support import python_server

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NODE = """\
node:internal/modules/cjs/loader:1215
  throw err;

Error: Cannot find module '/srv/index.js'
  requireStack: []

Node.js v20.19.0"""


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a self-signed certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now, address = dt.datetime.now(dt.UTC), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - dt.timedelta(1)).not_valid_after(now + dt.timedelta(1))
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(pem))
    files[1].write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return files


EXPECTED = {
    "self-signed": ("certificate-not-accepted", "127.0.0.1", "SSL_CERT_FILE"),
    "proxy refuses": ("proxy-failed", "407", "HTTPS_PROXY"),
    "proxy away": ("proxy-failed", "127.0.0.1:9", "NO_PROXY"),
    "python": ("process-ended", "CERTIFICATE_VERIFY_FAILED", "terminal"),
    "node": ("process-ended", "Error: Cannot find module '/srv/index.js'", "terminal"),
}


async def test_certificate_and_proxy_failures_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(407) as proxy, answering(401, self_signed(tmp_path)) as tls:
        monkeypatch.setenv("HTTPS_PROXY", proxy.replace("//", "//me:hunter2@"))
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        line = "ssl.SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"
        servers = [
            {"name": "self-signed", "url": tls},
            {"name": "proxy refuses", "url": "https://mcp.example.com/mcp"},
            {"name": "proxy away", "url": "http://mcp.example.com/mcp"},
            python_server("python", "unwilling.py", "fails", line),
            python_server("node", "unwilling.py", "fails", NODE),
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


async def trouble(url: str) -> str | None:
    async with Gateway.open({"servers": [{"name": "web", "url": url}]}) as gateway:
        await gateway.refresh()
        (status,) = await gateway.statuses()
        return status.trouble


async def test_the_certificates_and_the_proxy_of_the_environment_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = self_signed(tmp_path)
    with answering(401, files) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
        assert await trouble(url) == "sign-in-needed"
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
        assert await trouble(url) == "certificate-not-accepted"
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("ALL_PROXY", "strange://127.0.0.1:9")
    assert await trouble("https://mcp.example.com/mcp") == "proxy-failed"
