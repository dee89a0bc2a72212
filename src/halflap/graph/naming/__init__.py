"""Names of tools, fields and parameters, read as words.

Read `words` first (a name as words in the singular), then `identity` (which attribute of which thing a value is) and
`subject` (what a tool is about). `vocabulary` has the few words with a meaning of their own. Nothing here reads
sentences.
"""

from halflap.graph.naming.identity import Identity, is_abbreviation, is_secret, place_identity, slot_identity
from halflap.graph.naming.subject import Subject, subject_of, verb_at
from halflap.graph.naming.words import Words, is_plural, phrase, pieces_of, words_in, words_of, words_of_text

__all__ = [
    "Identity",
    "Subject",
    "Words",
    "is_abbreviation",
    "is_plural",
    "is_secret",
    "phrase",
    "pieces_of",
    "place_identity",
    "slot_identity",
    "subject_of",
    "verb_at",
    "words_in",
    "words_of",
    "words_of_text",
]
