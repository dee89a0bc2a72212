"""The sandbox for machines without a jail: pydantic-monty, an interpreter for a part of Python, written in Rust.

`monty` is the sandbox, `session` runs one program, `prelude` defines what programs find, `failure` explains how one failed.
"""
