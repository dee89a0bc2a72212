"""The words that need a rule: verbs of tool names, identifiers, containers, roles, secrets."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFIERS = _set("id uuid uid gid sid iid login slug key number code sha symbol sku handle ref reference")
"""Attributes that identify one thing among others of its kind."""
DISPLAY = _set("name title")
"""Attributes that people read; they identify a thing where nothing else does."""
SELF_NAMING = _set("login email sha sku symbol")
"""Attributes that mean the same whatever they belong to: a member's login is a user's."""
PERSONS = _set("user person member")
ROLES = _set(
    "assignee attendee author contributor creator host organizer owner participant recipient reporter requester reviewer "
    "sender by"
)
"""Roles of persons: a `requester_id` and `created_by.id` are ids of users."""
CONTAINERS = _set(
    "body collection content data edge element entry hit item list match metadata node object output page payload record "
    "response result row value"
)
"""Keys of containers that do not name what they contain."""
ASPECTS = _set(
    "a all an any attribute basic current data detail full info information list metadata my overview page profile summary the"
)
"""Words of tool names about how much of an entity is returned, not about which one."""
LINKING = _set("and as at by for from in into of on or per to using via with within")
"""Words after which a tool name is about something else than its entity."""
VAGUE = _set(
    "action body comment content description field format kind message mode note order query sort state status text type value"
)
"""Values that most entities have: the same name on both sides says nothing."""
SECRETS = _set("credential cvv otp passphrase passwd password pin secret token")
SECRET_KEYS = _set("access api private secret")
"""Before `key`."""

SURE_READS = _set(
    "analyze browse calculate compare count describe explain fetch find geocode get inspect list lookup query read "
    "recommend retrieve search show summarize translate validate verify"
)
"""Verbs that are verbs anywhere in a name: `tickets_list`."""
READ_VERBS = SURE_READS | _set("check diff download estimate preview return scan suggest view")
CREATE_VERBS = _set("add book build clone copy create fork generate insert make post register upload")
SEND_VERBS = _set("pay publish reply send share submit")
"""Verbs that make something new out of existing values, as those above do."""
DESTROY_VERBS = _set("cancel clear close delete destroy drop kill purge remove revoke")
CHANGE_VERBS = (
    CREATE_VERBS
    | SEND_VERBS
    | DESTROY_VERBS
    | _set(
        "append approve archive assign change commit configure disable edit enable execute import install invite lock mark "
        "merge modify move patch push put rename replace reset restart restore run save schedule "
        "set start stop subscribe sync transfer trigger update write"
    )
)
"""A tool whose verb is in neither list may change something, so this one only has to hold the common ones."""
