"""How results are shown: tables for terminals, papers and machines; pages and pictures in one palette."""
