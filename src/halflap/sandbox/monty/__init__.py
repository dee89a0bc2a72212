"""The sandbox for machines without a jail: pydantic-monty, an interpreter for a subset of Python, written in Rust.

`monty` is the sandbox, `failure` explains how a program failed.
"""
