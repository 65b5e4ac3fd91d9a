"""What CMI-Bench's scores do not show by themselves: bias by tag, prompts, a map of the models, contamination."""
