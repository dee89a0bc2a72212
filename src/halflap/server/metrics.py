"""`/metrics`: counts of tools, edges and learning, as Prometheus reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["METRICS", "WithMetrics", "prometheus"]

METRICS = "/metrics"
_KIND = b"text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Sample = tuple["Mapping[str, str]", float]


def prometheus(counted: Mapping[str, Any]) -> str:
    """Write what `Gateway.metrics` counts. Nothing of any call is in it but how many there were and how long it took."""
    edges, learning = counted["edges"], counted["learning"]
    families: list[tuple[str, str, str, Iterable[Sample]]] = [
        ("tools", "gauge", "Tools in the catalogue.", [({}, counted["tools"])]),
        ("tools_callable", "gauge", "Tools that may be called.", [({}, counted["callable"])]),
        (
            "server_tools",
            "gauge",
            "Tools of each server.",
            [({"server": name}, count) for name, count in counted["servers"].items()],
        ),
        (
            "tools_by_output",
            "gauge",
            "Tools by whether it is declared, learned or unknown what they return.",
            [({"output": state}, count) for state, count in counted["outputs"].items()],
        ),
        (
            "edges",
            "gauge",
            "Pairs of tools of which one can feed the other, by coverage.",
            [
                ({"edge_type": "provides", "coverage": coverage}, count)
                for coverage, count in edges["coverage"].items()
            ],
        ),
        (
            "edges_by_evidence",
            "gauge",
            "The same by the evidence for them; an edge may have several kinds.",
            [
                ({"edge_type": "provides", "evidence": kind, "coverage": coverage}, count)
                for kind, counts in edges["evidence"].items()
                for coverage, count in counts.items()
            ],
        ),
        ("edges_pagination", "gauge", "Tools that page through their results.", [({}, edges["pagination"])]),
        *(
            (f"learning_{name}_total", "counter", f"Of learning: {text}.", [({}, learning[name])])
            for name, text in counted["meanings"].items()
        ),
    ]
    return "".join(_family(*family) for family in families)


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP halflap_{name} {_help(text)}", f"# TYPE halflap_{name} {kind}"]
    for labels, value in samples:
        told = ",".join(f'{label}="{said.translate(_ESCAPES)}"' for label, said in labels.items())
        lines.append(f"halflap_{name}{f'{{{told}}}' if told else ''} {_number(value)}")
    return "\n".join(lines) + "\n"


def _help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


class WithMetrics:
    """Answers one path, and leaves all others to the application."""

    def __init__(self, app: ASGIApp, metrics: Callable[[], Awaitable[Mapping[str, Any]]]) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != METRICS:
            await self._app(scope, receive, send)
            return
        if scope["method"] not in {"GET", "HEAD"}:
            await _send(send, 405, b"", [(b"allow", b"GET, HEAD")])
            return
        text = prometheus(await self._metrics()).encode(errors="backslashreplace")
        body = b"" if scope["method"] == "HEAD" else text
        await _send(send, 200, body, [(b"content-type", _KIND), (b"cache-control", b"no-store")])


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
