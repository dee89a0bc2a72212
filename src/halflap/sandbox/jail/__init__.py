"""The jail (Linux): CPython in locked processes whose only connection is a channel to the gateway.

`jail` is the sandbox; `fork_server` and `process` are the fork server and one locked process, seen from the gateway;
`frames` and `wire` are the protocol. What runs on the other side is in `inside`, which must not import the gateway.
"""
