"""`python -m tsgrad.cli`."""

from tsgrad.cli import main

main()
