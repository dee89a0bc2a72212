"""The jail (Linux): CPython in locked processes whose only connection is a channel to the gateway.

`jail` is the sandbox, `process` one locked process, `protocol` what the two say to each other. `fork_server` starts and ends
processes, for the jail and for the check alike. What runs on the other side is in `inside`, which must not import the gateway;
`inside.server` explains how a new kind of process is added.
"""
