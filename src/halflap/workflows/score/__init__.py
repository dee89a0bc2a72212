"""How good a workflow is: performance, maintainability, compliance with its rules, named patterns, and what would make it better.

`score` is the whole answer. `facts` is what is known about tasks (time, cost, data), `timing` and `simulate` are how long a case takes.
"""
