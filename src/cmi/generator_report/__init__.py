"""One report for a generator, or for several: scores, prompts followed, what is wrong and when, copies; a page."""
