"""What runs in the jail's own processes: the fork server and the locked children. Standard library only."""
