"""The first page: servers, how the output of tools is known, and live charts of calls."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError
from halflap.web.charts import bars, lines
from halflap.web.views.history import tool_names

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.store import Activity, CallRecord
    from halflap.web.site import Visit

MINUTES = 60
_LATEST = 10
_BYTES_PER_TOKEN = 4
"""A rule of thumb for English and JSON; an exact count would need the model's tokenizer."""


async def overview(visit: Visit) -> Response:
    return visit.render("overview.html", **await _live(visit))


async def live(visit: Visit) -> Response:
    """Answer with the part that is polled."""
    return visit.render("overview_live.html", **await _live(visit))


async def _live(visit: Visit) -> dict[str, Any]:
    health, activity, calls = await asyncio.gather(visit.site.health.get(), _activity(visit), _latest(visit))
    assert health is not None
    advice: dict[str, list[dict[str, Any]]] = {}
    servers, outputs = health["servers"], health["outputs"]
    if visit.has_profile:
        # No findings: they may name tools outside the profile, and only the owner can act on them.
        tools, kinds = visit.gateway.snapshot.by_server, await visit.site.output_kinds.get() or {}
        servers = [
            {**one, "tools": len(tools.get(one["name"], ()))}
            for one in servers
            if one["name"] in visit.servers
        ]
        outputs = Counter({"declared": 0, "learned": 0, "unknown": 0})
        outputs.update(kinds.get(name, "unknown") for name in visit.gateway.snapshot.tools)
    else:
        for finding in health["findings"]:
            advice.setdefault(finding.get("server") or "", []).append(finding)
    return {
        # Servers that need attention come first.
        "servers": sorted(servers, key=lambda one: not (one["lastError"] or one["name"] in advice)),
        "calls": calls,
        "outputs": outputs,
        "advice": advice,
        "activity": None if activity is None else _charts(activity),
        "store_trouble": visit.gateway.store_trouble,
    }


async def _activity(visit: Visit) -> Activity | None:
    since = (time.time() // 60 - MINUTES + 1) * 60
    limit = visit.gateway.config.execution.max_output_bytes
    try:
        records = await visit.gateway.records()
        return await records.activity(
            since, 60.0, MINUTES, output_limit=limit, principal=visit.only_principal
        )
    except StoreError:
        return None


async def _latest(visit: Visit) -> list[tuple[CallRecord, str]]:
    try:
        calls = await visit.gateway.recent_calls(_LATEST, principal=visit.only_principal, values=False)
    except StoreError:
        return []
    return [*zip(calls, tool_names(visit, calls), strict=True)]


def _charts(activity: Activity) -> dict[str, Any]:
    calls, errors = sum(activity.calls), sum(activity.errors)
    medians, slow = _known(activity.median_ms), _known(activity.slow_ms)
    saved = max(0, activity.result_bytes - activity.output_bytes)
    return {
        "calls": calls,
        "last_minute": activity.calls[-1],
        "most": max(activity.calls),
        "errors": errors,
        "error_rate": errors / calls if calls else None,
        "median_ms": medians[-1] if medians else None,
        "slow_ms": slow[-1] if slow else None,
        "saved_tokens": saved // _BYTES_PER_TOKEN,
        "read_tokens": activity.output_bytes // _BYTES_PER_TOKEN,
        "oldest": activity.oldest,
        "bars": bars(activity.calls, activity.errors),
        "lines": lines(activity.median_ms, activity.slow_ms),
    }


def _known(values: tuple[float | None, ...]) -> list[float]:
    return [one for one in values if one is not None]


ROUTES = {"/": overview, "/overview/live": live}
