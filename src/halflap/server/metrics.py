"""The text at `/metrics`, in Prometheus's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Sample = tuple["Mapping[str, str]", float]


def prometheus(counted: Mapping[str, Any], refused: Mapping[str, int] | None = None) -> str:
    """Format the counts of `Gateway.metrics`. They contain nothing about single calls."""
    edges, learning = counted["edges"], counted["learning"]
    gauges: list[tuple[str, str, Iterable[Sample]]] = [
        ("tools", "Tools in the catalogue.", [({}, counted["tools"])]),
        ("tools_callable", "Tools that may be called.", [({}, counted["callable"])]),
        ("server_tools", "Tools of each server.", _by("server", counted["servers"])),
        (
            "tools_by_output",
            "Tools by how their output is known: declared, learned or unknown.",
            _by("output", counted["outputs"]),
        ),
        (
            "edges",
            "Pairs of tools where one can feed the other, by coverage.",
            _by("coverage", edges["coverage"], edge_type="provides"),
        ),
        (
            "edges_by_evidence",
            "Edges by coverage and kind of evidence; an edge may have several kinds.",
            [
                sample
                for kind, counts in edges["evidence"].items()
                for sample in _by("coverage", counts, edge_type="provides", evidence=kind)
            ],
        ),
        ("edges_pagination", "Tools that page through their results.", [({}, edges["pagination"])]),
    ]
    written = [_family(name, "gauge", text, samples) for name, text, samples in gauges]
    written += [
        _family(f"learning_{name}_total", "counter", f"Learning: {text}.", [({}, learning[name])])
        for name, text in counted["meanings"].items()
    ]
    if refused is not None:
        text = "Requests and connections refused before authentication."
        written.append(_family("http_refused_total", "counter", text, _by("reason", refused)))
    return "".join(written)


def _by(label: str, counts: Mapping[str, float], **labels: str) -> list[Sample]:
    return [({**labels, label: value}, count) for value, count in counts.items()]


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP halflap_{name} {text}", f"# TYPE halflap_{name} {kind}"]
    for labels, value in samples:
        written = ",".join(f'{label}="{one.translate(_ESCAPES)}"' for label, one in labels.items())
        number = str(int(value)) if value == int(value) else repr(float(value))
        lines.append(f"halflap_{name}{f'{{{written}}}' if written else ''} {number}")
    return "\n".join(lines) + "\n"
