"""The search for a better workflow: what counts as better, two engines that look for it, and the choice of the result.

`optimizer` is the whole operation. `search` measures candidates and is our engine, `genetic` drives the gepa library.
`transformations` are the changes, `goal` what is asked for.
"""
