"""CPython behind locks of the Linux kernel."""
