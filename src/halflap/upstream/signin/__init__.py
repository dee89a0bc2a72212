"""Signing in to servers that want OAuth.

Read `signin` first: a `SignIn` belongs to one server and one principal. A person signs in once (`redirect` waits for the browser);
after that it authenticates every request of a connection, and renews the tokens. `provider` sets up the SDK's OAuth client,
`credentials` keeps what was obtained.
"""

from halflap.upstream.signin.credentials import Credentials, CredentialStore, SignedIn
from halflap.upstream.signin.redirect import LoopbackRedirect, Redirect
from halflap.upstream.signin.signin import SignIn

__all__ = ["CredentialStore", "Credentials", "LoopbackRedirect", "Redirect", "SignIn", "SignedIn"]
