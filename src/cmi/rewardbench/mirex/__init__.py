"""A kit for MIREX's task "Music Evaluation via CMI-RewardBench": predict, check, disclose, validate honestly."""
