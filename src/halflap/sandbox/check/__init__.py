"""The check of a program before it runs: certain mistakes stop it, doubts are shown if it fails.

Read `checker` first, then `verdicts`. `inside` runs in a locked process: it parses the program, finds what the syntax
tree tells, and runs ty. `probes` asks ty about single values in a second run; `keys` and `arguments` decide by the
answers; `answer` validates what the locked process says. Nothing here reads ty's messages or depends on its rules.
"""
