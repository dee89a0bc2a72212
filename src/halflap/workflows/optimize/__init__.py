"""The search for a better workflow: what counts as better, two engines that look for it, and the choice of the result.

`optimizer` is the whole operation. `evaluate` measures candidates; `beam` is our own search, `genetic` drives the gepa library.
"""
