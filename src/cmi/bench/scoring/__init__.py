"""From answer files to cells, and from cells to tables."""
