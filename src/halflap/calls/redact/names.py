"""Which names mark a secret: `api_key`, `X-Auth-Token`, `dbPassword`; not `next_page_token` or `primary_key`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from halflap.calls.redact.forms import is_random

__all__ = ["Secrecy", "is_secret_text", "mentions_secret", "secrecy", "words"]

Secrecy = Literal["all", "scalar", "random", "no"]
"""What is secret under a name: everything, a single text or number, texts that look random, or nothing."""

_LONGEST = 200
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_RANDOM = re.compile(r"[^\s,;(){}\[\]]{6,}\Z")
_PATH = re.compile(r"[/~.]|[A-Za-z]:\\")
_MENTIONED = re.compile(r"(?i)pass[-_ ]?(?:word|wd|phrase|code)|api[-_ ]?key|secret(?!ar)|seed[-_ ]?phrase")


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET = words(
    """
    password passwords passwd passwds passphrase passphrases passcode passcodes psw pw secret secrets
    apikey apikeys accesskey secretkey privatekey authtoken authorization cookie cookies credential credentials creds
    mnemonic mnemonics seedphrase recoveryphrase sessionid sessid sessionkey otp totp cvv cvc
    """
)
_SCALAR = words("auth jwt bearer pwd pin pincode")
"""Often the name of an object in which not everything is secret."""
_QUALIFIED = {
    "key": words(
        """
        access account admin aes api app application auth client consumer crypto deploy encryption function gpg hmac
        ingest master pgp private rsa secret server service session shared signing ssh storage subscription webhook
        write
        """
    ),
    "pass": words(
        """
        admin api auth basic database db email ftp http https ldap login mail mongo mysql pg postgres proxy redis root
        smtp ssh user
        """
    ),
    "phrase": words("seed recovery mnemonic backup wallet pass"),
    "id": words("session"),
}
"""Names that are secret only after one of these words: an API key is, a primary key is not."""
_HARMLESS_TOKENS = tuple(
    words(
        """
        next page prev previous continuation continue sync cursor pagination pager resume start end stop first last max
        min num number total count input output prompt completion cached reasoning skip change delta scroll position
        eos bos pad unk sep cls mask special design lexer syntax begin
        """
    )
)
"""Before `token`: positions in a list, counts, and pieces of text."""
_SUFFIXES = words(
    """
    value string plain plaintext hash digest base base64 b64 hex encoded encrypted raw binary header data confirm
    confirmation repeat again old new current
    """
)
"""After the name of a secret these change nothing: `password_hash`, `SecretString`."""
_ENDINGS = tuple(
    words(
        """
        password passwd passphrase secret apikey accesskey secretkey privatekey credential credentials authorization
        sessionid sessid
        """
    )
)


@lru_cache(maxsize=8192)
def secrecy(name: str) -> Secrecy:
    """Return what is secret under a name; case and separators do not matter."""
    found = [word.lower() for word in _WORD.findall(name[-_LONGEST:])]
    while len(found) > 1 and (found[-1] in _SUFFIXES or found[-1].isdigit()):
        found.pop()
    if not found:
        return "no"
    last, before = found[-1], found[-2] if len(found) > 1 else ""
    # `pass_phrase` is `passphrase`; but `p_w` is a weight.
    joined = before + last if len(last) > 1 and len(before) > 1 else last
    harmless = joined.removesuffix("s").removesuffix("token").endswith(_HARMLESS_TOKENS)
    if (
        last in _SECRET
        or joined in _SECRET
        or last.endswith(_ENDINGS)
        or before in _QUALIFIED.get(last.removesuffix("s") if last != "pass" else last, ())
        or (last.endswith("token") and not harmless)
    ):
        return "all"
    if last in _SCALAR or joined in _SCALAR:
        return "scalar"
    # Often the name of something else, such as a count.
    is_maybe = last in {"session", "sid"} or found == ["pass"] or (last == "tokens" and not harmless)
    return "random" if is_maybe else "no"


def is_secret_text(how: Secrecy, text: str) -> bool:
    """Return whether a text under such a name is secret."""
    if how == "random":
        return _RANDOM.match(text[:_LONGEST]) is not None and is_random(text[:_LONGEST])
    return how == "all" or (how == "scalar" and _PATH.match(text) is None)


def mentions_secret(text: str) -> bool:
    """Return whether a text describes a field for a secret: `Password field`, `input[type=password]`."""
    return _MENTIONED.search(text[:_LONGEST]) is not None or secrecy(text) == "all"
