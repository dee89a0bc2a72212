"""Rules about ids and the things that they are of: whether they lead from one tool to another, and by one name."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.graph.effects import seems_to_destroy
from halflap.graph.subject import subject_of
from halflap.graph.words import Words, is_plural, phrase, words_of
from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import example, field, listed, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Link
    from halflap.lint.parts import Part
    from halflap.lint.server import Entry, Server

__all__ = ["RULES"]

_IDS = frozenset({"id", "uuid", "uid"})
_OUR_OWN = frozenset(
    {"api", "app", "application", "client", "correlation", "log", "request", "span", "tenant", "trace"}
)
"""Ids of these are for the records of whoever runs the server, or are given by whoever calls."""
_SYNONYMS = {"client": "customer", "buyer": "customer", "staff": "employee"}
_SIGNING_IN = frozenset(
    {"client_secret", "clientSecret", "redirect_uri", "redirectUri", "grant_type", "grantType"}
)
"""Beside these, a client is a program that signs in."""
_WHERE_FROM = re.compile(
    r"\bask(?:ed)?\b|\bfrom (?!which\b|whom\b|where\b)[\w`'\"]|\b(?:provided|given|supplied|entered|chosen|returned|shown|sent) (?:by|in|to)\b"
    r"|\b(?:found|visible|stands?|shown|appears?) (?:in|on|at|under)\b|\b(?:in|of|the) (?:\w+ )?(?:url|link|address bar|qr code)\b"
    r"|\b(?:get|obtain|copy|take|look|find) (?:it|this|them|one)\b|\buse \W?\w+_\w+\W? to\b|\bsee \w"
    r"|从\w|(?:使用|通过)\w",
    re.IGNORECASE,
)
"""By these, a description says where an id is to be had."""
_LONGEST_READ = 1_000
_HOLDERS = {words_of(name) for name in ("data", "result", "results", "item", "items", "record", "records")}
_SURE = 0.3
_MOST_NAMED = 3
_LONGEST = 80


def _is_id(part: Part) -> bool:
    return bool(part.words) and part.words[-1] in _IDS and not part.values


def _id_not_produced(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        # What an unknown result has in it, nobody can say: there the rule is silent, and the report says so.
        others = [other for other in server.entries if other is not one and not seems_to_destroy(other.ports)]
        if not others or not all(other.knows_fields for other in others):
            continue
        for part in one.inputs:
            if not _is_id(part) or not part.required or len(part.path) > 1 or part.words[0] in _OUR_OWN:
                continue
            sources = {
                source for source, link in _into(server, one) if link.target[: len(part.path)] == part.path
            }
            if sources & server.by_name.keys() or _WHERE_FROM.search(
                one.description_of(part)[:_LONGEST_READ]
            ):
                continue
            yield Found(
                one.name,
                part.where,
                f"{one.shown} needs {part.shown}, and no other tool of this server returns one."
                + _elsewhere(sources),
                f"Let a tool that lists or finds them return `{part.shown}`, or say in the description of {part.where} where it is "
                "to be had from.",
            )


def _id_not_accepted(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        if seems_to_destroy(one.ports):
            # Of what is gone, the id leads nowhere.
            continue
        for part in one.outputs:
            if (
                not _is_id(part)
                or len(server.entries) == 1
                or part.words[0] in _OUR_OWN
                or _is_echo(one, part)
            ):
                continue
            targets = {
                target for target, link in _out_of(server, one) if link.source[: len(part.path)] == part.path
            }
            if targets & server.by_name.keys():
                continue
            yield Found(
                one.name,
                part.where,
                f"{one.shown} returns {part.shown}, and no other tool of this server takes it."
                + _elsewhere(targets),
                f"Call it as the parameter that takes it is called, or add a tool that takes `{_whole_name(one, part)}`; if it "
                "leads nowhere, leave it out.",
            )


def _into(server: Server, one: Entry) -> Iterator[tuple[str, Link]]:
    for edge in server.graph.into(one.name):
        if edge.source != one.name and edge.confidence >= _SURE:
            yield from ((edge.source, link) for link in edge.links)


def _out_of(server: Server, one: Entry) -> Iterator[tuple[str, Link]]:
    for edge in server.graph.out_of(one.name):
        if edge.target != one.name and edge.confidence >= _SURE:
            yield from ((edge.target, link) for link in edge.links)


def _elsewhere(tools: set[str]) -> str:
    named = [f"`{visible(name, _LONGEST)}`" for name in sorted(tools)[:_MOST_NAMED]]
    return f" Another server has it: {', '.join(named)}." if named else ""


def _whole_name(one: Entry, part: Part) -> str:
    """Name an id with what it is of: that of `customers[].id` is `customer_id`."""
    if len(part.words) > 1:
        return part.shown
    return "_".join((*_thing(one, part), *part.words)) or part.shown


def _is_echo(one: Entry, part: Part) -> bool:
    """Say whether a tool returns the id that it took: who calls it has it already."""
    whole = words_of(_whole_name(one, part))
    return any(_is_id(each) and words_of(_whole_name(one, each)) == whole for each in one.inputs)


def _thing(one: Entry, part: Part) -> Words:
    around = [words_of(step.key) for step in part.path[:-1] if step.kind == "key"]
    # `data` and `result` hold the thing, and are not what it is called.
    around = [words for words in around if words not in _HOLDERS]
    return around[-1] if around else subject_of(one.tool.original_name, one.tool.server).thing


def _entity_named_two_ways(server: Server, _: Limits) -> Iterator[Found]:
    ways: dict[str, dict[str, list[tuple[Entry, Part]]]] = {}
    for one in server.entries:
        for part in one.parts:
            entity = _entity(one, part)
            if entity:
                ways.setdefault(entity, {}).setdefault(part.name, []).append((one, part))
    for spelled in ways.values():
        if len(spelled) < 2:  # noqa: PLR2004 -- one name is as it should be
            continue
        counts = Counter({name: len({one.name for one, _ in uses}) for name, uses in spelled.items()})
        # The name that most tools use; of those, one that says what it is of, and of those the first.
        best = max(counts, key=lambda name: (counts[name], len(words_of(name)), -list(spelled).index(name)))
        kept, example_tool = visible(best, _LONGEST), spelled[best][0][0].shown
        for name, uses in spelled.items():
            for one, part in uses if name != best else ():
                if best in part.beside:
                    # What has both means two things by them.
                    continue
                yield Found(
                    one.name,
                    part.where,
                    f"{one.shown} calls {part.shown} what is `{kept}` in {example_tool}.",
                    f"Rename {part.where} of {one.shown} to `{kept}`.",
                )


def _entity(one: Entry, part: Part) -> str:
    """Give what an id is of, as one text for all ways to write it; nothing where that is not clear."""
    if (
        not _is_id(part)
        or part.is_list
        or is_plural(part.name)
        or not part.kinds <= {"string", "integer", "number"}
    ):
        return ""
    if part.side == "output" and len(part.words) == 1:
        # An `id` within a record of the thing is what everybody writes.
        return ""
    words = part.words
    if not _SIGNING_IN.isdisjoint(part.beside):
        return ""
    if len(words) == 1:
        subject = subject_of(one.tool.original_name, one.tool.server)
        if subject.is_vague or subject.creates or len(part.path) > 1 or not subject.thing:
            return ""
        words = (subject.thing[-1], *words)
    return phrase((*(_SYNONYMS.get(word, word) for word in words[:-1]), "id"))


_TEXT = field("string", "An id.")
_CUSTOMERS = record(customers=listed(record(customer_id=_TEXT)))
_ORDERS = record(orders=listed(record(order_id=_TEXT)))

RULES = (
    Rule(
        "id-not-produced",
        "info",
        "A tool needs an id that no other tool of the server returns.",
        "There is no way to it from what the server offers: it has to come from the person, or from a guess.",
        "Return it from a tool that lists or finds the things, under the same name; or say in its description where "
        "it is to be had from: “from the URL of the page”, “ask the user for it”.",
        _id_not_produced,
        bad=example(
            tool("list_orders", None, _ORDERS),
            tool("get_customer", record("customer_id", customer_id=_TEXT), _ORDERS),
        ),
        good=example(
            tool("list_customers", None, _CUSTOMERS),
            tool("get_customer", record("customer_id", customer_id=_TEXT), _ORDERS),
            tool(
                "get_shop", record("shop_id", shop_id=field("string", "From the URL of the shop.")), _ORDERS
            ),
        ),
        needs="outputs",
    ),
    Rule(
        "id-not-accepted",
        "info",
        "A tool returns an id that no other tool of the server takes.",
        "An id that leads nowhere is read, kept and asked about for nothing; mostly the parameter that takes it has another "
        "name.",
        "Call it as the parameter is called, add a tool that takes it, or leave it out.",
        _id_not_accepted,
        bad=example(
            tool("list_orders", None, _ORDERS),
            tool("get_order", record("purchase", purchase=_TEXT), {"type": "string"}),
        ),
        good=example(
            tool("list_orders", None, _ORDERS),
            tool("get_order", record("order_id", order_id=_TEXT), {"type": "string"}),
            tool("get_bill", record("bill_id", bill_id=_TEXT), record(bill_id=_TEXT)),
        ),
        needs="outputs",
    ),
    Rule(
        "entity-named-two-ways",
        "warning",
        "The id of one thing has different names in tools of one server.",
        "Whoever goes from one tool to the next has to know that `customerId` is `customer_id`; models and programs get it wrong. "
        "An `id` in a record of the thing (`customers[].id`) is no other name for `customer_id`: what the record is says what it is "
        "of, and Halflap joins the two.",
        "Use one name for it everywhere.",
        _entity_named_two_ways,
        bad=example(
            tool("get_customer", record("customer_id", customer_id=_TEXT)),
            tool("list_orders", record("customerId", customerId=_TEXT)),
        ),
        good=example(
            tool("get_customer", record("customer_id", customer_id=_TEXT)),
            tool("list_orders", record("customer_id", customer_id=_TEXT)),
        ),
    ),
)
