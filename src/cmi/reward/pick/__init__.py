"""Best-of-N: pick the best of several takes of a prompt, and measure the gain."""
