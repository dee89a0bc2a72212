"""Connections to the MCP servers behind the gateway.

A `Pool` holds one `Upstream` per configured server. An upstream starts its server when it is first needed, reconnects
when the connection is lost, lists its tools and sends calls. Read first:

- `upstream`: calls and other requests, their limits and errors
- `lifecycle`: starting and reconnecting; `retry`: how often, and which calls are repeated
- `session`: the protocol; `listing`: tools and features; `announcements`: changes; `questions`: what servers ask clients
- `connection`: what was delivered, and why a connection failed
- `stdio`, `http`: the transports; `server_process` starts a stdio server through `guardian`, a program that ends the server
  with everything it started, however the gateway dies
- `signin/`: OAuth

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
