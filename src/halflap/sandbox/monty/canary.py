"""The canary: a program that tries to get out of monty, before any other is let in."""

from __future__ import annotations

from halflap.sandbox.sandbox import Program

__all__ = ["CANARY"]

CANARY = Program(
    """\
import json, os, pathlib

got = {}

def attempt(name, action):
    try:
        action()
    except Exception:
        got[name] = False
    else:
        got[name] = True

attempt("open a file", lambda: open("/etc/hostname").read())
attempt("write a file", lambda: open("/tmp/halflap-canary", "w").write("x"))
attempt("list a folder", lambda: os.listdir("/"))
attempt("read a path", lambda: pathlib.Path("/").iterdir())
attempt("read the environment", lambda: os.environ["PATH"])
attempt("make a socket", lambda: exec("import socket"))
attempt("start a process", lambda: exec("import subprocess"))
attempt("call into C", lambda: exec("import ctypes"))
print(json.dumps(got))
"""
)
