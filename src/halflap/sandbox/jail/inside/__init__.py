"""The code on the locked side: `server` forks, `child` locks itself, `program` runs what comes through `channel`.

Only the standard library and a few modules of `halflap.sandbox` are imported here, before the locks.
"""
