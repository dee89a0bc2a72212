"""Changes to a workflow that keep what has to be kept: traces, data dependences, rules and constraints.

`catalogue` lists the transformations by name; `constraints` is what each may look at and has to respect.
"""
