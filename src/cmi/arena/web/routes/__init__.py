"""The arena's routes, one module for each kind of visitor."""
