"""`python -m cmi` is `cmi`."""

from cmi.cli import main

main()
