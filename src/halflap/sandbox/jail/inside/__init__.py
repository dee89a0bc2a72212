"""The code on the locked side: `server` forks for a lock profile; `child`, the profile of programs, locks itself and runs one.

`locks` and `seccomp` are the locks. Only the standard library and a few modules of `halflap.sandbox` are imported here.
"""
