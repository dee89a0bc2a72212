"""What runs in the child process: DSPy, the model client and its cache of answers.

`__main__` receives jobs and sends results, `modules` builds a DSPy module from a spec, `field_types` the types of its
fields, `model` asks the language model, `answers` caches what it said, `failures` explains what went wrong, `optimizers`
runs DSPy's. The child sees nothing of the environment but facts about the machine; whatever is printed in it goes to the
parent's log.
"""
