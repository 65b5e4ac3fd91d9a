"""One report for a generator, or for several: scores, prompts kept, what is wrong and when, copies; a page."""
