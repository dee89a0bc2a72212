"""How tools fit together: the graph, and suggested workflows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.errors import UsageError
from halflap.core.values import OWN
from halflap.graph.edges import explain
from halflap.graph.edges.index import without_collection
from halflap.graph.effects import may_change as changes
from halflap.graph.naming import words_in_text, words_of
from halflap.graph.plan import Target, plan, target_of, workflow_json
from halflap.workflows.model.form import write_net
from halflap.workflows.run.suggested import suggested_net

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.catalog import Finder, Hit
    from halflap.catalog.view import Seen
    from halflap.config import Profile
    from halflap.gateway.learned import LearnedSchemas
    from halflap.graph.edges import Edge, Explanation, Graph
    from halflap.graph.plan import Planned, Workflow
    from halflap.observe import GraphSync

MAX_SUGGESTIONS = 10
_PLANS = 3
"""Plans for what is wanted, unless the caller sets a limit."""
MAX_CANDIDATES = 5
"""Candidates for a goal. Doubling it gives the caller more to choose from, and more to read."""


@dataclass(frozen=True)
class Composer:
    """Answers which tools fit together, and suggests workflows. It is the one place that decides what may be suggested."""

    catalog: Seen
    finder: Finder
    policy: Policy
    profile: Profile | None
    sync: GraphSync
    learned: LearnedSchemas

    async def graph(self) -> Graph:
        """Return the graph of the callable tools. It changes as more is learned: ask again after a while."""
        await self._catch_up()
        return await self.sync.graph()

    async def edges(self) -> Sequence[Edge]:
        """Return the edges to every tool, from the best few tools for each of its parameters."""
        await self._catch_up()

        def listed(graph: Graph) -> list[Edge]:
            with without_collection():
                return list(graph.edges())

        return await self.sync.run(listed)

    async def explain(self, source: str, target: str) -> Explanation:
        """Return why one tool can feed another, or what comes closest and why that is not enough."""
        graph = await self.graph()
        ends = [self.tool_named(graph, name) for name in (source, target)]
        return await self.sync.run(lambda graph: explain(graph, *ends))

    async def suggest(
        self,
        goal: str | None = None,
        have: Mapping[str, Any] | None = None,
        want: str | Sequence[str] | None = None,
        limit: int | None = None,
        *,
        may_change: bool = False,
        nets: bool = False,
    ) -> dict[str, Any]:
        """See `Gateway.suggest_workflow`."""
        wanted = [one.strip() for one in ([want] if isinstance(want, str) else want or ()) if one.strip()]
        goal = (goal or "").strip()
        if not goal and not wanted:
            raise UsageError("Set `want` to a tool or field, or `goal` to words to search for.")
        if limit is not None and not 1 <= limit <= MAX_SUGGESTIONS:
            raise UsageError(f"`limit` must be from 1 to {MAX_SUGGESTIONS}, not {limit}.")
        graph = await self.graph()
        given = dict(have or {})
        if wanted:
            targets = [self._target(graph, one) for one in wanted]
            planned = await self._plan(targets, given, limit or _PLANS, may_change=may_change)
            return {
                "suggestions": [_told(one, nets=nets) for one in planned.suggestions],
                "changes": [],
                "missing": self._missing(planned),
            }
        limit = min(limit or MAX_CANDIDATES, MAX_CANDIDATES)
        return await self._candidates(goal, given, limit, may_change=may_change, nets=nets)

    def tool_named(self, graph: Graph, name: str) -> str:
        """Return the full name of a tool; raises where there is none, or it may not be called."""
        if name in graph.tools:
            return name
        named = [one.tool for one in graph.tools.values() if one.original_name == name]
        if len(named) == 1:
            return named[0]
        if len(named) > 1:
            raise UsageError(
                f"Several servers have a tool {name!r}: {', '.join(sorted(named)[:5])}. Use the full name."
            )
        self.policy.admit(self.catalog.known(name), self.catalog.snapshot, self.profile)
        raise UsageError(f"{name!r} is not in the graph yet. Try again.")

    async def _catch_up(self) -> None:
        """Wait until all tools are listed, and everything answered so far has been learned from."""
        await self.catalog.ensure_listed()
        await self.learned.catch_up()

    def _target(self, graph: Graph, want: str) -> Target:
        target = target_of(graph, want)
        prefixes = ("mcp__", *(f"{name}__" for name in OWN))
        is_tool = want in self.catalog.snapshot.tools or want.startswith(prefixes)
        if target.kind == "field" and (is_tool or any(one.name == want for one in graph.tools.values())):
            # The name of several tools, or of one that is not there or may not be called: the error says which.
            self.tool_named(graph, want)
        return target

    async def _plan(
        self, targets: Sequence[Target], have: Mapping[str, Any], limit: int, *, may_change: bool
    ) -> Planned:
        return await self.sync.run(
            lambda graph: plan(
                graph, want=targets, have=have, limit=limit, may_change=may_change, may_use=self._may_use
            )
        )

    async def _candidates(
        self, goal: str, have: Mapping[str, Any], limit: int, *, may_change: bool, nets: bool
    ) -> dict[str, Any]:
        """Plan for the tools that search finds; what may change something comes apart and without a program."""
        hits = await self.finder.search(goal, MAX_SUGGESTIONS, None)
        found: dict[str, list[dict[str, Any]]] = {"suggestions": [], "changes": [], "missing": []}
        graph = await self.sync.graph()
        ordered: list[tuple[Hit, Planned]] = []
        for hit in [hit for hit in hits if hit.name in graph.tools and self._may_use(hit.name)][
            :MAX_CANDIDATES
        ]:
            planned = await self._plan([Target("tool", hit.name)], have, 1, may_change=may_change)
            if planned.suggestions:
                ordered.insert(_rank(goal, planned.suggestions[0], ordered), (hit, planned))
        for hit, planned in ordered[:limit]:
            workflow = planned.suggestions[0]
            is_change = any(changes(task.ports) for task in workflow.tasks)
            told = _told(workflow, nets=nets and not is_change, with_program=not is_change)
            told |= {"target": hit.name, "signature": hit.signature}
            told["missing"] = self._missing(planned)
            found["changes" if is_change else "suggestions"].append(told)
        if not found["suggestions"] and not found["changes"]:
            note = "Search finds no tool for this. Use other words, or `search_tools` and then `want`."
            found["missing"].append(
                {"tool": None, "parameter": goal, "could_provide": [], "near": [], "note": note}
            )
        return found

    def _missing(self, planned: Planned) -> list[dict[str, Any]]:
        """Return what is missing, with the reason why tools that would help are kept out of programs."""
        found = list(planned.missing)
        for one in found:
            if one["tool"] is None and (why := self._why_kept_out(one["parameter"])) is not None:
                one |= {"near": [], "note": why}
            for provider in one["could_provide"]:
                if (why := self._why_kept_out(provider["tool"])) is not None:
                    provider["why"] = why
        return found

    def _why_kept_out(self, name: str) -> str | None:
        tool = self.catalog.snapshot.tools.get(name)
        why = None if tool is None else self.policy.kept_out_of_programs(tool)
        return None if why is None else f"It {why}"

    def _may_use(self, name: str) -> bool:
        return self.catalog.snapshot.is_callable(name) and self._why_kept_out(name) is None


def _rank(goal: str, workflow: Workflow, ordered: Sequence[tuple[Hit, Planned]]) -> int:
    """Return where to insert a plan among those for better hits: at the end, or before one that it extends.

    It extends a plan if it also calls a tool that the goal names: `order_history` for "orders of the top customers".
    """
    asked = set(words_in_text(goal))

    def named(one: Workflow) -> set[str]:
        return asked.intersection(word for task in one.tasks for word in words_of(task.ports.name))

    contained = (
        at
        for at, (hit, planned) in enumerate(ordered)
        if hit.name in workflow.tools and named(planned.suggestions[0]) < named(workflow)
    )
    return next(contained, len(ordered))


def _told(workflow: Workflow, *, nets: bool, with_program: bool = True) -> dict[str, Any]:
    told = workflow_json(workflow, with_program=with_program)
    if nets:
        told["net"] = write_net(suggested_net(workflow))
    return told
