"""Which names stand for something secret: `api_key`, `X-Auth-Token`, `dbPassword`; not `next_page_token`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

__all__ = ["Secrecy", "looks_secret", "names_field", "secrecy", "words"]

Secrecy = Literal["all", "text", "random", "digits", "no"]
"""Everything below the name is secret, only a text right below it, only what looks so, or nothing.

`random` is of texts with letters and digits, as under `tokens`; `digits` of numbers, as under `pin`.
"""

_LONGEST = 200
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_FIELD = re.compile(r"(?i)pass[-_ ]?(?:word|wd|phrase|code)|api[-_ ]?key|secret(?!ar)|seed[-_ ]?phrase")
_RANDOM = re.compile(r"(?=[^0-9]*+[0-9])(?=[^A-Za-z]*+[A-Za-z])[^\s,;(){}\[\]]{6,}\Z|[\w.~+/=-]{20,}\Z")
_DIGITS = re.compile(r"[0-9][0-9 -]{2,14}[0-9]\Z")


def words(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())


_SECRET = words(
    """
    password passwords passwd passwds passphrase passphrases passcode passcodes psw secret secrets
    apikey apikeys accesskey secretkey privatekey authorization cookie cookies credential credentials creds
    pw mnemonic mnemonics authtoken sessionid sessid sessionkey sessiontoken otp totp cvv cvc
    """
)
_SECRET_AS_TEXT = words("auth session sid jwt bearer pwd")
"""Often the name of something larger, in which not everything is secret."""
_KEYS = words(
    """
    access account admin aes api app application auth client consumer crypto deploy encryption function gpg
    hmac ingest master pgp private rsa secret server service session shared signing ssh storage
    subscription webhook write
    """
)
"""What kinds of `key` are secret. A primary, public, foreign or sort key is not."""
_PASSES = words(
    """
    admin api auth basic database db email ftp http https ldap login mail mongo mysql pg postgres proxy redis
    root smtp ssh user
    """
)
_PHRASES = words("seed recovery mnemonic backup wallet")
_OF_SESSION = words("id key token cookie secret")
_HARMLESS_TOKENS = tuple(
    words(
        """
    next page prev previous continuation continue sync cursor pagination pager resume start end stop first
    last max min num number total count input output prompt completion cached reasoning skip change delta
    scroll position eos bos pad unk sep cls mask special design lexer syntax begin
    """
    )
)
"""Before `token`: places in a list, counts, and pieces of text."""
_BESIDE = words(
    """
    value string plain plaintext hash digest base base64 b64 hex encoded encrypted raw binary header data
    confirm confirmation repeat again old new current
    """
)
"""Behind a secret's name, these change nothing about it: `password_hash`, `SecretString`."""
_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "credential",
    "credentials",
    "authorization",
    "sessionid",
    "sessid",
)


@lru_cache(maxsize=8192)
def secrecy(name: str) -> Secrecy:
    """Say how secret is what stands under a name; case and separators do not matter."""
    found = [word.lower() for word in _WORD.findall(name[-_LONGEST:])]
    while len(found) > 1 and (found[-1] in _BESIDE or found[-1].isdigit()):
        found.pop()
    if not found:
        return "no"
    last, before = found[-1], found[-2] if len(found) > 1 else ""
    # `pass_phrase` and `passPhrase` are `passphrase`; but of two letters, as in `p_w`, nothing is known.
    joined = before + last if len(last) > 1 < len(before) else ""
    is_secret = (
        last in _SECRET
        or joined in _SECRET
        or last.endswith(_ENDINGS)
        or (last in {"key", "keys"} and before in _KEYS)
        or (last in _OF_SESSION and before == "session")
        or (last in {"pass", "pwd"} and before in _PASSES)
        or (last in {"phrase", "phrases"} and before in _PHRASES)
        or last in {"seedphrase", "recoveryphrase"}
        or (last.endswith("token") and not (last[:-5] or before).endswith(_HARMLESS_TOKENS))
    )
    if is_secret:
        return "all"
    if last in _SECRET_AS_TEXT or found == ["pass"]:
        return "text"
    if last == "tokens" and not before.endswith(_HARMLESS_TOKENS):
        return "random"
    return "digits" if last == "pin" or (before == "pin" and last == "code") else "no"


def looks_secret(how: Secrecy, text: str) -> bool:
    """Say whether a text under a name of that kind is secret."""
    if how == "random":
        return _RANDOM.match(text[:_LONGEST]) is not None
    if how == "digits":
        return _DIGITS.match(text) is not None
    return how != "no"


def names_field(text: str) -> bool:
    """Say whether a text tells of a field for a secret: `Password field`, `input[type=password]`."""
    text = text[:_LONGEST]
    return _FIELD.search(text) is not None or secrecy(text) == "all"
