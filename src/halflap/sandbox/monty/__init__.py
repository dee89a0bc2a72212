"""The sandbox for machines without a jail: pydantic-monty, an interpreter of a part of Python, written in Rust."""
