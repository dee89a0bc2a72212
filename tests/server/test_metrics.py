"""`/metrics`: what Prometheus reads, and who may."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import OLD
from halflap.observe import METERS
from halflap.server.metrics import prometheus
from server.faces import Served, served

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = re.compile(
    r'halflap_[a-z_]+(?:\{[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*")*\})? [0-9.e+-]+'
)
COUNTED: dict[str, Any] = {
    "tools": 9,
    "callable": 8,
    "servers": {"shop": 9},
    "outputs": {"declared": 4, "learned": 3, "unknown": 2},
    "edges": {
        "total": 5,
        "pagination": 1,
        "coverage": {"strict": 3, "partial": 0, "optional": 2},
        "evidence": {"lineage": {"strict": 1, "partial": 0, "optional": 0}},
    },
    "learning": dict.fromkeys(METERS, 0.25),
    "meanings": METERS,
}


def test_everything_that_is_counted_is_there() -> None:
    lines = prometheus(COUNTED).splitlines()
    assert 'halflap_tools_by_output{output="declared"} 4' in lines
    assert 'halflap_edges{edge_type="provides",coverage="strict"} 3' in lines
    assert 'halflap_edges_by_evidence{edge_type="provides",evidence="lineage",coverage="strict"} 1' in lines
    assert "halflap_learning_lag_seconds_total 0.25" in lines
    assert "# TYPE halflap_learning_results_total counter" in lines


def test_every_line_is_in_the_form_and_every_family_is_explained() -> None:
    families = set()
    for line in prometheus(COUNTED).splitlines():
        if line.startswith("#"):
            families.add(line.split()[2])
        else:
            assert SAMPLE.fullmatch(line), line
            assert re.match(r"\w+", line)[0] in families  # type: ignore[index]


def test_a_name_cannot_break_out_of_its_label() -> None:
    hostile = 'a"} 1\nhalflap_tools 99\\'
    text = prometheus({**COUNTED, "servers": {hostile: 1}})
    (line,) = (one for one in text.splitlines() if one.startswith("halflap_server_tools"))
    assert line == 'halflap_server_tools{server="a\\"} 1\\nhalflap_tools 99\\\\"} 1'
    assert SAMPLE.fullmatch(line)


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("metrics"), OLD) as face:
        yield face


def test_it_is_served_to_who_has_the_token(face: Served) -> None:
    answer = face.ask("/metrics", "GET")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'halflap_server_tools{server="old"}' in answer.text
    assert all(line.startswith("#") or SAMPLE.fullmatch(line) for line in answer.text.splitlines())


@pytest.mark.parametrize("token", ["", "Bearer wrong"])
def test_without_the_token_nobody_reads_it(face: Served, token: str) -> None:
    answer = face.ask("/metrics", "GET", Authorization=token)
    assert answer.status_code == 401
    assert "halflap_" not in answer.text


def test_a_foreign_host_does_not_read_it_either(face: Served) -> None:
    assert face.ask("/metrics", "GET", Host="evil.example").status_code == 421


def test_it_can_only_be_read(face: Served) -> None:
    assert face.ask("/metrics", "HEAD").status_code == 200
    answer = face.ask("/metrics", "POST")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
