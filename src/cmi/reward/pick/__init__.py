"""Best-of-N: the best of several takes for one prompt, and what picking is worth."""
