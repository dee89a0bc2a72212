"""What words say: which name a thing, which only an attribute of one, and which say nothing by themselves.

How often a name occurs in the catalogue decides how much it weighs; these are only what is known beforehand, for
catalogues too small to tell.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.graph.words import Words

__all__ = [
    "ABOUT",
    "ADDRESSED",
    "ALSO_NOUNS",
    "AT_THE_END",
    "BECOMING",
    "CHANGING",
    "CHOSEN",
    "COMMON_THINGS",
    "CONTAINERS",
    "CONTENT",
    "CREATING",
    "DELETING",
    "ELIDED",
    "EXPRESSED",
    "IDENTIFYING",
    "KINDS",
    "LISTING",
    "PERSONS",
    "PREPOSITIONS",
    "ROLES",
    "SHOWN",
    "THINGS",
    "UPDATING",
    "VERBS",
    "is_secret",
    "telling",
]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFYING = {
    "id": 0.85, "name": 0.8, "key": 0.75, "slug": 0.75, "code": 0.75, "number": 0.7, "uuid": 0.8, "uid": 0.8,
    "login": 0.75, "handle": 0.75, "symbol": 0.75, "sku": 0.75, "path": 0.75, "reference": 0.7, "arn": 0.75,
    "sha": 0.7, "hash": 0.65, "title": 0.65, "alias": 0.65, "iata": 0.7,
}  # fmt: skip
"""Attributes by which a thing is named, each with how sure it is that a bare value is this one."""

CHOSEN = _set("alias code handle login name path slug symbol sku title")
"""Those that whoever makes a thing chooses."""

KINDS = {
    "url": 0.7, "email": 0.8, "path": 0.2, "latitude": 0.9, "longitude": 0.9, "city": 0.75, "address": 0.78,
    "phone": 0.75, "domain": 0.75, "ip": 0.85, "country": 0.5, "currency": 0.5, "timezone": 0.65, "date": 0.38,
    "location": 0.65, "host": 0.4, "region": 0.45, "postcode": 0.6, "language": 0.62, "zone": 0.4, "coordinate": 0.8,
    "uuid": 0.3, "street": 0.5, "port": 0.25, "doi": 1.0, "isbn": 1.0,
}  # fmt: skip
"""Values that mean the same wherever they are found, whatever they are of."""

CONTENT = _set(
    "answer arg argument base64 body caption code command comment condition content css data description detail details "
    "document expression feedback html image info input instruction json markdown message metadata note output page "
    "payload pattern prompt query question reason request response result schema script snippet source sql subject "
    "summary template term text thought title topic value xml yaml"
)
"""What somebody writes, rather than what something is known by."""

_NOTHING = _set(
    "action active all amount api arg attribute author average base binary by category cell class column config "
    "confidence configuration context count created cursor custom day deleted depth direction done duration enabled "
    "encoding end entry env error event exclude extra field file filter first flag footer force format from full goal "
    "group header height hour id image include index info interval item key kind label last layout length level limit "
    "line list max method min minute mode month name new next notes number object offset ok old operation option order "
    "other param parameter params password path percent percentage period position prefix price primary priority "
    "property public quantity range rank rate rating raw reason recursive reference resource result role row save scope "
    "score search second secret section settings short size skip sort start state status step stop style success "
    "suffix tag target temperature test theme time timeout timestamp title to token top total true type unit update "
    "updated use user value verbose version view visible volume week weight width with x y year z"
)
_SAYS = {
    "amount": 0.25, "price": 0.3, "author": 0.4, "category": 0.4, "label": 0.35, "tag": 0.35, "event": 0.5, "file": 0.5,
    "group": 0.5, "user": 0.6, "item": 0.45, "image": 0.4, "order": 0.5, "object": 0.35, "resource": 0.45, "entry": 0.35,
    "start": 0.3, "end": 0.3, "time": 0.25, "version": 0.3, "timestamp": 0.25, "column": 0.5, "cell": 0.5, "row": 0.35,
    "line": 0.3, "section": 0.45, "layout": 0.4, "token": 0.2, "target": 0.3, "source": 0.3, "quantity": 0.3,
    "from": 0.25, "to": 0.25, "class": 0.4, "field": 0.35, "property": 0.4, "rating": 0.3, "temperature": 0.3,
    "role": 0.4, "position": 0.35, "day": 0.25, "month": 0.25, "year": 0.3, "week": 0.3, "first": 0.3, "last": 0.3,
    "test": 0.5, "custom": 0.3, "template": 0.45, "document": 0.45, "page": 0.3, "message": 0.35, "comment": 0.35,
    "note": 0.4, "topic": 0.45, "question": 0.4, "request": 0.45, "response": 0.3, "snippet": 0.3, "schema": 0.45,
    "subject": 0.2, "script": 0.35, "reference": 0.35, "hour": 0.2, "duration": 0.25, "period": 0.3, "volume": 0.3,
    "interval": 0.3, "rank": 0.25, "stage": 0.3, "severity": 0.3, "unit": 0.2, "visibility": 0.2, "score": 0.2, "resolution": 0.3, "model": 0.4, "feature": 0.4,
}  # fmt: skip
_LITTLE = 0.1
THINGS = _set(
    "action attribute author category cell class column comment condition config context document entry event field file "
    "group header image index instruction item key label layout line list message note object order page parameter property "
    "price query question request resource response result role row script section snippet step style tag task template "
    "test theme token topic user version view"
)
"""Words that name a thing where an attribute follows: `order_id`, though `order` may be how to sort."""
_NAMES_A_THING = 0.95
_OF_A_THING = 0.8

ROLES = _set(
    "from to source target origin destination base head start end sender recipient receiver parent child departure "
    "arrival pickup dropoff current selected given input initial home work"
)
"""What a thing is to a tool, before the thing's own name: `from_account_id`."""
EXPRESSED = _set("language locale currency timezone unit format encoding")
"""What the same thing can be expressed in."""
BECOMING = _set("to target destination output desired preferred")
"""Before that, what it is to be expressed in, which is not what it is in now."""
ADDRESSED = _set(
    "to cc bcc recipient attendee invitee participant guest source target image file page website site"
)
"""Parameters whose description may say that they take an e-mail address or one on the web."""
CHANGING = _set(
    "min max total num number count avg average mean is has no not new old next previous prev sum delta minimum maximum "
    "output include exclude enable disable allow show hide use sort order filter except without before after since "
    "until created updated deleted modified last first expected required max per"
)
"""Words that make another value of the one that they stand before."""
PERSONS = _set(
    "approver assignee author commenter contributor creator host initiator invitee maintainer manager member organizer "
    "owner participant poster recipient reporter requester reviewer sender submitter uploader"
)
"""What a user is to something."""
SHOWN = _set(
    "avatar chart content icon image link page pdf photo picture preview price rating report score status text thumbnail "
    "transcript tree weather"
)
"""What a tool shows of a thing: an id that it takes is that of the thing."""
CONTAINERS = _set(
    "attribute body collection content data edge element entry found hit input item list match node object option output "
    "page param parameter payload record response result return row value values field change filter properties criterion "
    "args argument request body query response embedded docs document"
)
"""What only holds other things."""
COMMON_THINGS = _set(
    "account category channel comment document event file folder directory group item list member message note object "
    "page post project record request resource result session tag task team thread ticket user workspace organization "
    "entity node entry job run role label"
)
"""Things that many servers have, each its own."""

CREATING = _set("add append book create draw generate insert make new post register save write")
DELETING = _set("delete remove destroy purge drop erase uninstall")
UPDATING = _set("update edit modify patch change set")
LISTING = _set(
    "all browse find list lookup query recent scan search searcher top trending discover filter match"
)
_OTHER_VERBS = _set(
    "accept open send start upload access activate aggregate analyse analyze apply approve archive assign attach build calculate call cancel "
    "change check checkout clear click clone close commit compare complete compute configure connect convert copy count "
    "decline delete deploy describe detach diff disable download edit enable end estimate evaluate execute explain "
    "explore export extract fetch fetcher fill fix follow force format geocode get getter give go import inspect install "
    "invite invoke join kill label launch leave like load lock log manage mark merge modify monitor move mute navigate "
    "optimize parse patch pause pay perform pin ping play populate predict preview print process publish pull purge push put "
    "query read recommend refresh refund reject remove rename renew replace reply report request reset resolve restart "
    "restore resume retrieve return reverse review revoke run schedule select set share show sign skip sleep sort split "
    "stop store submit subscribe suggest summarize swap switch sync tag take test track train transcribe transfer "
    "translate trigger unassign undo unfollow unlock unpin unsubscribe update use validate verify view wait watch "
    "whois buy sell trade ship unlink link cancel confirm pay charge void capture issue grant"
)
VERBS = CREATING | DELETING | UPDATING | LISTING | _OTHER_VERBS
ALSO_NOUNS = _set(
    "access all book call change charge check clone comment commit copy count filter fork format issue label launch like link "
    "list load lock log mark match merge monitor move new note open order pin play post preview print process pull push "
    "query recent record release report request review run schedule search set share sign sort split start stop store "
    "submit switch sync tag take test top track trade train trending trigger update use view void wait watch transfer"
)
"""Verbs that are as often nouns: verbs only where a name begins with them."""
AT_THE_END = _set("search lookup list get find searcher getter fetcher create update delete query read write")
ELIDED = _set(
    "data detail entity entry history info instance listing log method object option profile record request resource result"
)
"""Nouns that are left out where it is clear which thing is meant: a `payment_id` may be that of a payment method."""
ABOUT = _set(
    "all top recent by current data detail details history info information latest metadata overview raw status summary profile "
    "content contents full my the a an one multiple single batch available new public v v1 v2 v3 api tool advanced"
)
"""What is said about a thing rather than which: `get_member_details` is about members."""
PREPOSITIONS = _set(
    "about across after against and as at before between by during for from in into of on or per since through to under using via with within without"
)


_SECRETS = _set(
    "apikey authorization credential cred passcode passphrase passwd password pwd secret accesskey secretkey privatekey"
)
_SECRET_KEYS = _set("access api auth client master private secret service signing ssh")
_SECRET_TOKENS = _set(
    "access api app auth authentication authorization bearer bot id jwt oauth personal refresh secret security"
)


@lru_cache(maxsize=1 << 16)
def is_secret(words: Words) -> bool:
    """Say whether a name is that of what lets somebody in: no description or name is reason enough to pass such a thing on."""
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _SECRETS or words == ("token",):
        return True
    return (last == "key" and before in _SECRET_KEYS) or (last == "token" and before in _SECRET_TOKENS)


@lru_cache(maxsize=1 << 16)
def telling(words: Words) -> float:
    """Say how much a name tells of what its value is, between 0 and 1."""
    if len(words) > 1 and words[-2] in KINDS and words[-1] in IDENTIFYING and words[-1] not in KINDS:
        # A country is a thing, too, where it has a code.
        return _NAMES_A_THING
    if len(words) > 1 and words[-2] in THINGS:
        return _NAMES_A_THING if words[-1] in IDENTIFYING or words[-1] in KINDS else _OF_A_THING
    silent = 1.0
    for word in words:
        silent *= 1 - _tells(word)
    return 1 - silent


def _tells(word: str) -> float:
    if word in KINDS:
        return KINDS[word]
    if word in _SAYS:
        return _SAYS[word]
    if word in _NOTHING or word in CONTENT or word in PREPOSITIONS or word.isdigit() or len(word) == 1:
        return _LITTLE
    return 1.0
