"""The score of a workflow: performance, maintainability, compliance with its rules, named patterns, and recommendations.

`score` is the whole answer. `facts` has time, cost and data of the tasks, `timing` and `simulate` find how long a case takes.
"""
