"""The check of a program before it runs: certain mistakes stop it, doubts are shown if it fails.

Read `checker` first: it writes the types of the tools that a program names, and has the program examined. `process` does
that in a pair of processes locked by `inside/profile`: one is ty (`inside/ty`); the other finds what the syntax tree
shows, and confirms what ty objects to by asking it a second time, with assertions (`inside/examine`). `arguments` validates calls
against the tools' schemas. Nothing here reads ty's messages or depends on the names of its rules.
"""
