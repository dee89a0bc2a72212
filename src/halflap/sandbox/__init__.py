"""Programs over tools: checked, run in a sandbox, and reported.

Read `programs` first, then `run/run`, the object that owns one run. `sandbox` defines what a sandbox gets and returns,
`functions` what programs find in it; `jail` and `monty` are the two there are, `check` finds mistakes before a run. Calls
themselves are made by `halflap.calls`.

Nothing is imported here: the fork server loads this package, and must not load the gateway with it.
"""
