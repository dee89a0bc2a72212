"""The text that Prometheus reads; who may read it is in test_http.py."""

from __future__ import annotations

import re
from typing import Any

from halflap.observe import METERS
from halflap.server.metrics import prometheus

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


def test_everything_that_is_counted_is_there_and_no_name_breaks_out_of_its_label() -> None:
    hostile = 'a"} 1\nhalflap_tools 99\\'
    lines = prometheus({**COUNTED, "servers": {hostile: 1}}).splitlines()
    assert 'halflap_tools_by_output{output="declared"} 4' in lines
    assert 'halflap_edges{edge_type="provides",coverage="strict"} 3' in lines
    assert 'halflap_edges_by_evidence{edge_type="provides",evidence="lineage",coverage="strict"} 1' in lines
    assert "halflap_learning_lag_seconds_total 0.25" in lines
    assert "# TYPE halflap_learning_results_total counter" in lines
    (line,) = (one for one in lines if one.startswith("halflap_server_tools"))
    assert line == 'halflap_server_tools{server="a\\"} 1\\nhalflap_tools 99\\\\"} 1'
    assert all(SAMPLE.fullmatch(one) for one in lines if not one.startswith("#"))
