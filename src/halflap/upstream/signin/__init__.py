"""OAuth for servers that need a sign-in.

Read `signin` first: a `SignIn` belongs to one server and one principal. A person signs in once (`redirect` waits for
the browser). From then on, it authenticates the requests of a connection and renews the tokens. `provider` sets up the
SDK's OAuth client, and `credentials` stores the tokens.
"""

from halflap.upstream.signin.credentials import CredentialStore, SignedIn, credential_store
from halflap.upstream.signin.redirect import Redirect
from halflap.upstream.signin.signin import SignIn

__all__ = ["CredentialStore", "Redirect", "SignIn", "SignedIn", "credential_store"]
