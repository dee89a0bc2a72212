"""Names of tools, fields and parameters, read as words.

Read `words` first (a name as words in the singular), then `identity` (which attribute of which thing a value is) and
`subject` (what a tool is about). `vocabulary` lists the few words that need a rule. Nothing here reads sentences.
"""

from halflap.graph.naming.identity import (
    Identity,
    described_identities,
    doubts,
    is_secret,
    place_identities,
    slot_identities,
    things_around,
)
from halflap.graph.naming.subject import NO_SUBJECT, Subject, subject_of, verb_at, without_prefix
from halflap.graph.naming.words import Words, is_plural, phrase, pieces_of, words_in_text, words_of

__all__ = [
    "NO_SUBJECT",
    "Identity",
    "Subject",
    "Words",
    "described_identities",
    "doubts",
    "is_plural",
    "is_secret",
    "phrase",
    "pieces_of",
    "place_identities",
    "slot_identities",
    "subject_of",
    "things_around",
    "verb_at",
    "without_prefix",
    "words_in_text",
    "words_of",
]
