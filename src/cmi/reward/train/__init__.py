"""Train a reward head on a frozen encoder, from preferences and ratings; each stage is a configuration."""
