"""Changes to a workflow that keep what has to be kept: traces, data dependences, rules and constraints.

`catalogue` lists the transformations by name; `ground` is what each may look at.
"""
