"""Which names stand for something secret: `api_key`, `X-Auth-Token`, `dbPassword`; not `next_page_token`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

__all__ = ["Secrecy", "secrecy", "words"]

Secrecy = Literal["all", "text", "no"]
"""Everything below the name is secret, only a text right below it, or nothing."""

_LONGEST = 200
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())


_SECRET = words(
    """
    password passwords passwd passwds passphrase passphrases passcode passcodes psw secret secrets
    apikey apikeys accesskey secretkey privatekey authorization cookie cookies credential credentials creds
    authtoken sessionid sessid sessionkey sessiontoken otp totp cvv cvc
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
    is_secret = (
        last in _SECRET
        or last.endswith(_ENDINGS)
        or (last in {"key", "keys"} and before in _KEYS)
        or (last in _OF_SESSION and before == "session")
        or (last in {"pass", "pw", "pwd"} and before in _PASSES)
        or (last.endswith("token") and not (last[:-5] or before).endswith(_HARMLESS_TOKENS))
    )
    if is_secret:
        return "all"
    return "text" if last in _SECRET_AS_TEXT else "no"
