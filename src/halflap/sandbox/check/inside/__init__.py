"""What runs in the check's own processes. The standard library is all that they have."""
