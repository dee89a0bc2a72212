"""The check of a program before it runs: certain mistakes stop it, doubts are shown if it fails.

Read `checker` first: it writes the types of the tools that a program names, and has the program examined. `process` does
that in a child of the jail's fork server, locked by `inside/profile`. There, `inside/examine` finds what the syntax tree
shows, runs ty, and confirms what ty objects to by a second run with probes. `arguments` validates calls by the tools'
schemas. Nothing here reads ty's messages or depends on the names of its rules.
"""
