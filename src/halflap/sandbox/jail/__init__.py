"""The jail (Linux): CPython in locked processes whose only connection is a channel to the gateway.

`jail` is the sandbox. `process` is one locked process, `protocol` the frames of its channel, and `messages` what is in them.
`fork_server` starts and ends processes, for the jail and for the check alike. `inside` runs on the other side and
must not import the gateway; `inside.server` explains how a new kind of process is added.
"""
