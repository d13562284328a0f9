"""Exit codes that are no answer of a command."""

#: sysexits.h: the command line or a file is not what it should be.
BAD_INPUT = 64

#: sysexits.h: something that the command needs is not there. Not 1, which says "invalid".
UNAVAILABLE = 69
