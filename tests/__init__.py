"""A package by name, so that a package called `tests` that a peer installs does not hide this one in child processes."""
