"""Exit codes of failures. None of them is 0, 1 or 2, which are answers of a command."""

#: Wrong command line or file: an expression, an option, a table (EX_USAGE of sysexits.h).
BAD_INPUT = 64

#: A package is not installed (EX_UNAVAILABLE).
UNAVAILABLE = 69

#: The computation cannot be completed, or a bug (EX_SOFTWARE).
FAILED = 70

#: Ctrl-C, a closed reader of the output, and kill: 128 + SIGINT, SIGPIPE, SIGTERM.
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
