"""The code of the child process: DSPy, the model client and its cache of answers.

`jobs` runs what the parent asks for. `modules` builds a DSPy module from a spec, `field_types` the types of its fields,
`model` calls the language model, `answers` caches its answers, `failures` explains errors, `optimizers` runs DSPy's. Of
the environment, the child sees only facts about the machine; what it prints goes to the parent's log.
"""
