"""Connections to the MCP servers behind the gateway.

A `Pool` holds one `Upstream` per configured server. An upstream starts its server when it is first needed, reconnects
when the connection is lost, lists its tools and sends calls; a call that may have arrived is repeated only if
repeating it is harmless. Read `upstream.py` (calls) and `lifecycle.py` (starting and reconnecting) first, then
`session.py` (the protocol), `announcements.py` (what the server says has changed), `connection.py` (what was delivered, and
why it failed), `stdio.py` and `http.py` (the transports). `server_process.py` starts a stdio server by way of `guardian.py`, a
program that ends the server with all that it started, however the gateway dies. `signin/` signs in to servers with OAuth.

Policy, validation and recording of calls are in `halflap.calls`, the tools of all servers in `halflap.catalog`.
"""

from halflap.upstream.connection import Hooks, Trouble
from halflap.upstream.lifecycle import Status
from halflap.upstream.signin import CredentialStore, Redirect, SignedIn, SignIn, credential_store
from halflap.upstream.upstream import Pool, Upstream

__all__ = [
    "CredentialStore",
    "Hooks",
    "Pool",
    "Redirect",
    "SignIn",
    "SignedIn",
    "Status",
    "Trouble",
    "Upstream",
    "credential_store",
]
