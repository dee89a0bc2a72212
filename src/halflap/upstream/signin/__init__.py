"""Signing in to servers that want OAuth.

Read `signin` first: a `SignIn` belongs to one server and one principal. A person signs in once (`redirect` waits for the browser);
after that it authenticates every request of a connection, and renews the tokens. `provider` sets up the SDK's OAuth client, and
`credentials` keeps what was obtained.
"""

from halflap.upstream.signin.credentials import Credentials, CredentialStore, SignedIn, credential_store
from halflap.upstream.signin.redirect import Redirect
from halflap.upstream.signin.signin import SignIn, can_open_links, sign_in_through_client

__all__ = [
    "CredentialStore",
    "Credentials",
    "Redirect",
    "SignIn",
    "SignedIn",
    "can_open_links",
    "credential_store",
    "sign_in_through_client",
]
