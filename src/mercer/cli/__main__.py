"""`python -m mercer.cli`: the same as the command `mercer`."""

from mercer.cli import main

if __name__ == "__main__":  # importing it, as documentation tools do, must not run it
    main()
