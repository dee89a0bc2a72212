"""What a net does, straight from the definition and with nothing of ours: slow, and only for small nets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.net import Flow, Net
    from workflows.nets import Tree

Tokens = frozenset[tuple[object, int]]
Word = tuple[str, ...]

_MOST = 20_000


class TooMuchError(Exception):
    """More than can be enumerated in a test."""


def begin(net: Net) -> Tokens:
    return frozenset([(net.input, 1)])


def complete(net: Net) -> Tokens:
    return frozenset([(net.output, 1)])


def fire(net: Net, tokens: Tokens) -> Iterator[tuple[str, Tokens]]:
    """Give each task that can be done, and the tokens after it; for nets without or-gates."""
    incoming, outgoing = net.incoming(), net.outgoing()
    have = dict(tokens)

    def place(flow: Flow) -> object:
        for end in (flow.source, flow.target):
            if end in net.conditions:
                return end
        return (flow.source, flow.target)

    for task in net.tasks.values():
        takes, gives = [place(one) for one in incoming[task.id]], [place(one) for one in outgoing[task.id]]
        for taken in [takes] if task.join == "and" else [[one] for one in takes]:
            if any(have.get(one, 0) < 1 for one in taken):
                continue
            for given in [gives] if task.split == "and" else [[one] for one in gives]:
                after = Counter(have)
                after.subtract(taken)
                after.update(given)
                yield task.id, frozenset((one, count) for one, count in after.items() if count)


def traces(net: Net, longest: int, tokens: int = 8) -> set[Word]:
    """Give all complete traces up to a length."""
    first = ((), begin(net))
    seen: set[tuple[Word, Tokens]] = {first}
    waiting: list[tuple[Word, Tokens]] = [first]
    found = set()
    for word, here in waiting:
        if here == complete(net):
            found.add(word)
        for task, after in fire(net, here):
            label = net.tasks[task].label
            longer = word if label is None else (*word, label)
            if len(longer) > longest or (longer, after) in seen:
                continue
            if sum(count for _, count in after) > tokens or len(seen) > _MOST:
                raise TooMuchError
            seen.add((longer, after))
            waiting.append((longer, after))
    return found


def reachable(
    net: Net, start: Tokens | None = None, tokens: int = 8
) -> dict[Tokens, list[tuple[str, Tokens]]]:
    """Return all states from `start` on, or from the beginning, each with what can be done in it."""
    found: dict[Tokens, list[tuple[str, Tokens]]] = {}
    waiting = [begin(net) if start is None else start]
    for here in waiting:
        if here in found:
            continue
        if sum(count for _, count in here) > tokens or len(found) > _MOST:
            raise TooMuchError
        found[here] = list(fire(net, here))
        waiting += [after for _, after in found[here]]
    return found


def after_tasks(net: Net, done: tuple[str, ...]) -> set[Tokens]:
    """Give the states that a case may be in after these tasks."""
    here = {begin(net)}
    for task in done:
        here = {after for one in here for fired, after in fire(net, one) if fired == task}
    return here


def accepts(net: Net, word: Word) -> bool:
    """Tell whether a trace is a complete one."""
    here = {begin(net)}
    for label in (*word, None):
        waiting = list(here)
        for one in waiting:
            for task, after in fire(net, one):
                if net.tasks[task].label is None and after not in here:
                    here.add(after)
                    waiting.append(after)
        if label is not None:
            here = {after for one in here for task, after in fire(net, one) if net.tasks[task].label == label}
    return complete(net) in here


def tree_traces(tree: Tree, longest: int) -> set[Word]:
    """Give all traces of a tree up to a length, by what each kind of block means."""
    match tree:
        case ("task", label):
            return {()} if label is None else {(label,)}
        case ("loop", body, redo):
            once, again = tree_traces(body, longest), tree_traces(redo, longest)
            turn = _one_after_other(again, once, longest)
            found, new = set(once), set(once)
            while new:
                new = _one_after_other(new, turn, longest) - found
                found |= new
            return found
    kind, parts = tree
    languages = [tree_traces(part, longest) for part in parts]
    if kind == "xor":
        return set().union(*languages)
    if kind == "or":
        return set().union(
            *(
                _together(list(some), longest)
                for size in range(1, len(languages) + 1)
                for some in combinations(languages, size)
            )
        )
    if kind == "and":
        return _together(languages, longest)
    found = {()}
    for language in languages:
        found = _one_after_other(found, language, longest)
    return found


def _one_after_other(first: set[Word], second: set[Word], longest: int) -> set[Word]:
    return {one + two for one in first for two in second if len(one) + len(two) <= longest}


def _together(languages: list[set[Word]], longest: int) -> set[Word]:
    found: set[Word] = {()}
    for language in languages:
        found = {
            word
            for one in found
            for two in language
            if len(one) + len(two) <= longest
            for word in _shuffles(one, two)
        }
        if len(found) > _MOST:
            raise TooMuchError
    return found


def _shuffles(one: Word, two: Word) -> set[Word]:
    if not one or not two:
        return {one + two}
    return {(one[0], *rest) for rest in _shuffles(one[1:], two)} | {
        (two[0], *rest) for rest in _shuffles(one, two[1:])
    }
