"""How tools fit together: the graph of what can feed what, and workflows over it."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError, UsageError
from halflap.core.values import OWN
from halflap.gateway.lazy import FIRST_LISTING_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from halflap.calls import Policy
    from halflap.catalog import Catalog, Finder, Refresher
    from halflap.config import Config
    from halflap.gateway.goals import Meant
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.graph.asking import Asked
    from halflap.graph.clauses import Said
    from halflap.graph.edge import Edge, Ports
    from halflap.graph.explain import Explanation
    from halflap.graph.graph import Graph
    from halflap.graph.named import Named
    from halflap.graph.plan import Planned
    from halflap.observe import Edges
    from halflap.store import Store
    from halflap.upstream import Pool

__all__ = ["MOST_SUGGESTED", "Composer"]

MOST_SUGGESTED = 10
_MOST_TARGETS = 6
"""So many of the tools that fit a goal are planned for."""
_MOST_HITS = 30
"""So many are looked at: those that change something, and are not asked for, do not keep out the others."""
_RELEVANT = 0.4
"""A tool that fits a goal less than so well, compared with the best, is not what is meant."""


class Composer:
    """Answers which tools fit together, and suggests workflows."""

    def __init__(
        self,
        *,
        config: Config,
        store: Store,
        store_trouble: str | None,
        catalog: Catalog,
        listings: Refresher,
        pool: Lazy[Pool],
        finder: Finder,
        policy: Policy,
        edges: Edges,
        learned: LearnedSchemas,
    ) -> None:
        self._config = config
        self._store = store
        self._store_trouble = store_trouble
        self._catalog = catalog
        self._listings = listings
        self._pool = pool
        self._finder = finder
        self._policy = policy
        self._edges = edges
        self._learned = learned

    async def graph(self, *, behind: bool = True) -> Graph:
        """Return the graph of what can feed what, over all callable tools, as it is now.

        It changes as more is learned: ask again when working with it for long. With `behind`, stale lists are refreshed
        in the background.
        """
        await self._catch_up(behind=behind)
        return await self._edges.graph()

    async def rebuild(self, *, behind: bool = True) -> Graph:
        """Compute all edges again from what is known now, and store them."""
        await self._catch_up(behind=behind)
        if self._store_trouble is not None:
            raise StoreError(f"{self._store_trouble} Nothing was rebuilt.")
        return await self._edges.rebuild()

    async def explain(self, source: str, target: str, *, behind: bool = True) -> Explanation:
        """Return why one tool can feed another, or what comes closest and why that is not enough."""
        graph = await self.graph(behind=behind)
        ends = [self.tool_named(graph, name) for name in (source, target)]
        return await asyncio.to_thread(graph.explain, *ends)

    async def suggest(
        self,
        goal: str | None = None,
        have: Mapping[str, Any] | None = None,
        want: str | None = None,
        limit: int = 3,
        *,
        behind: bool = True,
        nets: bool = False,
    ) -> dict[str, Any]:
        """Return workflows that get what is wanted from what is at hand, best first, and what is missing.

        `want` is a tool or a field, `goal` what should be done, in words; `have` has the values at hand by name, None
        for those only known to exist. With `nets`, each workflow comes as a net, too.
        """
        goal, want = (goal or "").strip(), (want or "").strip()
        if not goal and not want:
            raise UsageError(
                "Say what is wanted: `goal` in words, or `want`, the name of a tool or of a field."
            )
        if not 1 <= limit <= MOST_SUGGESTED:
            raise UsageError(f"`limit` must be from 1 to {MOST_SUGGESTED}, not {limit}.")
        graph = await self.graph(behind=behind)
        from halflap.gateway.goals import best, plans_for, told  # noqa: PLC0415 -- see the top of `build`
        from halflap.gateway.nearest import nearest  # noqa: PLC0415 -- as above
        from halflap.gateway.wanted import plan_for_want  # noqa: PLC0415 -- as above
        from halflap.graph.clauses import read_goal  # noqa: PLC0415 -- as above
        from halflap.graph.plan import Planned  # noqa: PLC0415 -- as above

        flows = _Allowed(graph, self._may_run)
        at_hand = dict(have or {})
        said = read_goal(goal, at_hand)

        if want:
            target = self._target(graph, want)

            def planned_for(tools: Graph | _Allowed) -> dict[str, Any]:
                return _json(plan_for_want(said, tools, target, at_hand, limit), nets=nets)

            return await asyncio.to_thread(
                lambda: self._with_kept_out(planned_for(flows), flows, lambda: planned_for(graph))
            )
        targets, asking, near = await self._meant(goal, said, graph)

        def planned_for_goal(tools: Graph | _Allowed) -> dict[str, Any]:
            planned = plans_for(targets, tools, at_hand, limit, asking)
            found = best(said, goal, planned, limit, () if planned else nearest(goal, tools.tools, asking))
            named = told(asking, near)
            # Where nothing fits, what is near and is not planned is what there is to say.
            missing = (*(found.missing if found.suggestions or not named else ()), *named)
            return _json(Planned(found.suggestions, missing), nets=nets)

        return await asyncio.to_thread(
            lambda: self._with_kept_out(planned_for_goal(flows), flows, lambda: planned_for_goal(graph))
        )

    async def metrics(self) -> dict[str, Any]:
        """Count tools by what is known of their results, edges by coverage and evidence, and the cost of learning.

        The last is summed over all gateways that use the store; `meanings` explains each of its numbers.
        """
        await self._catch_up(behind=True)
        return await self.counts()

    async def counts(self, tools: Collection[str] | None = None) -> dict[str, Any]:
        """Count the same without asking any server; with `tools`, only edges from or to one of them."""
        graph = await self._edges.graph()
        edges = await asyncio.to_thread(
            lambda: _counted(
                [one for one in graph.edges() if tools is None or {one.source, one.target} & set(tools)]
            )
        )
        try:
            meters = await self._store.counters()
        except StoreError:
            meters = {}
        from halflap.observe import METERS  # noqa: PLC0415 -- see the top of `build`

        snapshot = self._catalog.snapshot
        outputs = Counter((await self._learned.output_kinds()).values())
        return {
            "tools": len(snapshot.tools),
            "callable": len(snapshot.callable),
            "servers": {name: len(tools) for name, tools in sorted(snapshot.by_server.items())},
            "outputs": {kind: outputs[kind] for kind in ("declared", "learned", "unknown")},
            "edges": edges,
            "learning": {name: meters.get(f"learning_{name}", 0.0) for name in METERS},
            "meanings": METERS,
        }

    async def _catch_up(self, *, behind: bool) -> None:
        """Wait until all tools are listed, and everything answered so far has been learned from."""
        await self._listings.ensure_listed(wait_seconds=FIRST_LISTING_SECONDS, refresh_stale=behind)
        await self._learned.catch_up()

    def _target(self, graph: Graph, want: str) -> Any:
        from halflap.graph.want import target_of  # noqa: PLC0415 -- see the top of `build`

        target = target_of(graph, want)
        if target.kind == "field" and (
            want in self._catalog.snapshot.tools or want.startswith(("mcp__", *(f"{name}__" for name in OWN)))
        ):
            # It is the name of a tool, and of none that may be called: which of both, the error says.
            self.tool_named(graph, want)
        return target

    def tool_named(self, graph: Graph, name: str) -> str:
        """Return the full name of a tool; raises where there is none, or it may not be called."""
        if name in graph.tools:
            return name
        named = [one.tool for one in graph.tools.values() if one.original_name == name]
        if len(named) == 1:
            return named[0]
        if len(named) > 1:
            raise UsageError(
                f"Several servers have a tool {name!r}: {', '.join(sorted(named)[:5])}. Give the whole name of one."
            )
        servers = [one.name for one in self._config.servers]
        down = self._listings.unavailable(self._pool.made or ())
        snapshot = self._catalog.snapshot
        self._policy.admit(snapshot.find(name, servers, down), snapshot)
        raise UsageError(f"{name!r} is not in the graph yet. Ask again.")

    async def _meant(
        self, goal: str, said: Said, graph: Graph
    ) -> tuple[list[Meant], dict[str, Asked], list[str]]:
        """Give the tools that a goal may mean, what it says of each, and those that it only seems to mean."""
        from halflap.gateway.goals import Meant, asked_for  # noqa: PLC0415 -- see the top of `build`
        from halflap.gateway.wording import candidates, named_in, widened  # noqa: PLC0415 -- as above
        from halflap.graph.asking import Asked  # noqa: PLC0415 -- as above
        from halflap.graph.effects import seems_to_change  # noqa: PLC0415 -- as above

        hits = await self._finder.search(goal, _MOST_HITS, None)
        if more := widened(goal):
            found = {hit.name for hit in hits}
            wider = await self._finder.search(f"{goal} {more}", _MOST_HITS, None)
            hits = [*hits, *(hit for hit in wider if hit.name not in found)]
        known = [hit for hit in hits if hit.name in graph.tools]
        asking = asked_for(said, [graph.tools[hit.name] for hit in known], named_in(goal, graph))
        scores = {hit.name: hit.score for hit in known if asking[hit.name].is_meant}
        top = max(scores.values(), default=1.0)
        for name, fit in candidates(said, goal, graph):
            scores[name] = max(scores.get(name, 0.0), fit * top)
            asking.setdefault(name, Asked(is_meant=True))
        meant = [Meant(name, score / top) for name, score in scores.items() if score > 0]
        meant.sort(key=lambda one: -one.fit)
        targets = [one for one in meant if one.fit >= _RELEVANT][:_MOST_TARGETS]
        if any(seems_to_change(graph.tools[one.tool]) for one in targets):
            least = math.inf
        else:
            least = _RELEVANT * max((hit.score for hit in known), default=0.0)
        near = [hit.name for hit in known if hit.score >= least or _is_told_to_destroy(asking[hit.name])]
        return targets, asking, near

    def _with_kept_out(
        self, found: dict[str, Any], flows: _Allowed, otherwise: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Say of what is missing which tools would have it, were they not kept out of programs, and how to let them in."""
        from halflap.graph.lack import NOBODY, REFUSED  # noqa: PLC0415 -- see the top of `build`

        if not flows.kept_out or not found["missing"]:
            return found
        could = otherwise()
        without = could["missing"] or not could["suggestions"]
        used = () if without else [one for one in could["suggestions"][0]["tools"] if one in flows.kept_out]
        for one in found["missing"]:
            if one["tool"] is None and one["parameter"] in flows.kept_out:
                one |= {"near": [], "note": f"{one['parameter']}: {self._why_kept_out(one['parameter'])}."}
            else:
                one["could_provide"] += [{"tool": name, "why": self._why_kept_out(name)} for name in used]
                if used and one.get("note", "").startswith(NOBODY):
                    one["note"] = REFUSED
        return found

    def _why_kept_out(self, name: str) -> str:
        rule = "`execution.read_only` keeps it out of programs"
        if self._policy.changes(self._catalog.snapshot.tools[name]):
            return f"{rule}, since it changes something"
        return (
            f"{rule}, since nobody who is trusted says that it changes nothing: if that is so, "
            f"name it under `tools.read_only`, or trust what its server says of its tools (`trust_annotations`)"
        )

    def _may_run(self, name: str) -> bool:
        """Say whether programs may call a tool."""
        tool = self._catalog.snapshot.tools.get(name)
        if tool is None or not self._config.execution.read_only:
            return tool is not None
        policy = self._policy
        return policy.is_read_only(tool) or (tool.server in OWN and not policy.is_destructive(tool))


class _Allowed:
    """A graph without the tools that programs may not call."""

    def __init__(self, graph: Graph, may_run: Callable[[str], bool]) -> None:
        self._graph = graph
        self._tools = {name: ports for name, ports in graph.tools.items() if may_run(name)}
        self.kept_out = graph.tools.keys() - self._tools.keys()

    @property
    def tools(self) -> Mapping[str, Ports]:
        return self._tools

    @property
    def named(self) -> Named:
        return self._graph.named

    def into(self, tool: str) -> Sequence[Edge]:
        found = self._graph.into(tool)
        return [edge for edge in found if edge.source in self._tools] if self.kept_out else found


def _json(planned: Planned, *, nets: bool) -> dict[str, Any]:
    found = planned.to_json()
    if nets:
        from halflap.workflows.model.form import write_net  # noqa: PLC0415 -- see the top of `build`
        from halflap.workflows.run.suggested import suggested_net  # noqa: PLC0415 -- as above

        for told, workflow in zip(found["suggestions"], planned.suggestions, strict=True):
            told["net"] = write_net(suggested_net(workflow))
    return found


def _is_told_to_destroy(way: Asked) -> bool:
    """Say whether a goal plainly tells to do what a tool does, which is not planned only because it destroys."""
    return bool(way.danger) and not way.doubt


def _counted(edges: Sequence[Edge]) -> dict[str, Any]:
    coverage = {"strict": 0, "partial": 0, "optional": 0}
    evidence: dict[str, dict[str, int]] = {}
    for edge in edges:
        coverage[edge.coverage] += 1
        for kind in edge.kinds:
            counts = evidence.setdefault(kind, {"strict": 0, "partial": 0, "optional": 0})
            counts[edge.coverage] += 1
    return {
        "total": len(edges),
        "pagination": sum(edge.is_pagination for edge in edges),
        "coverage": coverage,
        "evidence": dict(sorted(evidence.items())),
    }
