"""`python -m cmi` runs the command `cmi`."""

import sys

if not sys.flags.safe_path and sys.path:
    del sys.path[0]  # the current folder: a soundfile.py there is not the package of that name

from cmi.cli import main

main()
