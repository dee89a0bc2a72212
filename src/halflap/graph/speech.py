"""The small words of a goal: which say how much, where a phrase ends, and that something may not be meant at all."""

from __future__ import annotations

import re

__all__ = [
    "ADJECTIVES",
    "AUXILIARIES",
    "BE",
    "CONDITIONS",
    "DETERMINERS",
    "FILLERS",
    "INFORMING",
    "LOOKS",
    "PARTICLES",
    "POLITE",
    "PREPOSITIONS",
    "PRONOUNS",
    "QUANTIFIERS",
    "QUESTIONS",
    "RELATIVES",
    "SEVERAL",
    "SPARING",
    "TELLING",
    "TURNING",
    "doubt_in",
]

POLITE = re.compile(
    r"(?i)(?:(?:please|hey|hi|hello|ok|okay|now|then|first|next|finally|kindly|so|and|just|also|immediately|permanently"
    r"|completely|quickly|thanks|thank\s+you|go\s+ahead)(?=\W|$)[\s,]*"
    r"|(?:can|could|would|will)\s+you\s+"
    r"|(?:(?:i|we)(?:\s+would|\s*['\u2019]d)?\s+)?(?:like|want|need|love|wish)\s+(?:you\s+)?to\s+|(?:i|we)\s+have\s+to\s+"
    r"|(?:let\s*['\u2019]?s|let\s+us|let\s+me|help\s+me(?:\s+to)?|i\s+must|we\s+must|you\s+must)\s+)"
)
"""What a command begins with that says nothing of what is to be done."""

_DOUBTS = re.compile(
    r"(?i)\b(?:not|never|no|nothing|nobody|nowhere|none|neither|nor|cannot|without|except|excepting|excluding"
    r"|exclude|excludes|excluded|others?|another|remaining|rest|else|stays?|staying|outside|beyond|above|under|below|past"
    r"|against|older|newer|greater|(?:more|less|fewer)\s+than|at\s+(?:least|most)|up\s+to|simulat\w+|test\s+run"
    r"|(?:can|may|should|could|might|shall)\s+(?:i|we)|is\s+it|omit\w*|behalf|sans|unlike|lacking|differ\w*|but|besides|aside|unless|until|till|if|whether|or|either|avoid|prevent|refrain|instead|rather"
    r"|later|tomorrow|someday|eventually|dry|apart|save\s+for|barring|minus|only|almost|nearly|hardly|barely"
    r"|maybe|perhaps|possibly|probably|suppose|supposing|imagine|pretend\w*|hypothetical\w*|theoretical\w*|careful"
    r"|beware|forbid|forbidden|dont|doesnt|didnt|wont|cant|shouldnt|mustnt|isnt|arent|wouldnt|lest|keep|keeping|spare"
    r"|sparing|retain|preserve|skip|skipping|ignore|ignoring|joking|kidding)\b"
    r"|(?i:n['\u2019]t)\b"
)
"""What says that something is not to be done, not to all, not now, or not for sure."""

QUESTIONS = frozenset(
    {"which", "who", "whom", "whose", "what", "how", "when", "where", "why", "can", "could", "may", "might", "is", "are",
     "was", "were", "do", "does", "did", "has", "have", "had", "should", "would", "will", "am", "shall"}
)  # fmt: skip
LOOKS = frozenset(
    {"show", "list", "tell", "find", "get", "see", "count", "search", "look", "display", "view", "read", "fetch",
     "explain", "describe", "summarize", "summarise", "compare", "analyze", "analyse", "give", "lookup", "retrieve",
     "check", "inspect", "browse"}
)  # fmt: skip
"""What a clause begins with that asks to be told something; a command may come behind `and`."""
TELLING = frozenset(
    {"ask", "tell", "say", "echo", "answer", "think", "guess", "explain", "define", "translate", "suggest", "recommend",
     "remind", "warn", "write", "note"}
)  # fmt: skip
"""What comes behind these may be what is said: `tell Bob, delete user u1`."""
CONDITIONS = frozenset(
    {"when", "once", "while", "after", "before", "during", "so", "though", "although", "because"}
)
"""What says when something is to be done, or why."""
BE = frozenset({"is", "are", "was", "were", "has", "have", "had"})
AUXILIARIES = BE | frozenset(
    {
        "be",
        "been",
        "do",
        "does",
        "did",
        "can",
        "could",
        "may",
        "might",
        "will",
        "would",
        "shall",
        "should",
        "must",
    }
)
"""Behind a phrase, these make it what is spoken of: `delete user u1 is what he said`."""
RELATIVES = frozenset(
    {"that", "who", "which", "whom", "whose", "what", "how", "why", "where", "when", "while", "because", "since", "named",
     "called", "titled", "than", "like", "once", "so", "though", "although", "as"}
)  # fmt: skip
"""What begins a clause that says which one, or when."""
PREPOSITIONS = frozenset(
    {"of", "from", "for", "to", "in", "on", "at", "by", "with", "into", "onto", "off", "out", "over", "under", "about",
     "after", "before", "during", "between", "among", "against", "via", "per", "through", "within", "behind", "above",
     "below", "near", "around", "inside", "outside", "up", "down", "back", "away", "along", "across", "upon", "towards",
     "toward", "beyond", "beside", "past", "using"}
)  # fmt: skip
PARTICLES = frozenset({"in", "on", "out", "up", "down", "off", "back", "away", "over"})
"""What belongs to a verb: `turn off`."""
TURNING = frozenset({"over", "off", "out", "away"})
"""Where they do not belong to a verb, these turn round what it does, or set a bound: `move it out of G1`, `over 100`."""
INFORMING = frozenset(
    {
        "notify",
        "inform",
        "tell",
        "message",
        "text",
        "email",
        "mail",
        "alert",
        "warn",
        "remind",
        "announce",
        "broadcast",
    }
)
"""What comes behind `that`, after whom it is said to, is what is said: `notify grower G1 that the water is off`."""
QUANTIFIERS = frozenset({"all", "every", "each", "both"})
"""What says that it is all of them, where it begins a phrase."""
DETERMINERS = QUANTIFIERS | frozenset(
    {"the", "a", "an", "this", "that", "these", "those", "my", "our", "your", "his", "her", "its", "their", "some", "any",
     "one", "another", "following", "given", "said", "whole", "entire", "new"}
)  # fmt: skip
PRONOUNS = frozenset(
    {"it", "them", "him", "her", "this", "that", "these", "those", "all", "each", "both", "everything", "everyone",
     "everybody", "another"}
)  # fmt: skip
SEVERAL = frozenset({"them", "these", "those", "all", "each", "both", "everything", "everyone", "everybody"})
ADJECTIVES = frozenset(
    {"last", "latest", "first", "newest", "oldest", "old", "recent", "current", "next", "previous", "existing",
     "same", "biggest", "smallest", "largest", "cheapest", "best", "worst", "second", "third", "stale",
     "obsolete", "outdated"}
)  # fmt: skip
"""What says which one, and leaves open what it is."""
FILLERS = frozenset(
    {"please", "now", "immediately", "permanently", "completely", "too", "also", "again", "asap", "thanks", "then", "today",
     "quickly", "entirely", "altogether", "well", "one", "ones", "me", "us", "just", "right"}
)  # fmt: skip
"""What may stand behind a phrase, or in it, and says nothing of what it is done to."""
SPARING = frozenset({"leave", "protect", "hold", "save", "restore", "free", "release", "allow", "permit"})
"""Verbs that may say what is to be left out of what is done to all."""


def doubt_in(text: str) -> str:
    """Give the first word of a text that says that something may not be meant."""
    found = _DOUBTS.search(text)
    return found[0] if found else ""
