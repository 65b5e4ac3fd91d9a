"""Training a reward head on a frozen encoder, on preferences and ratings: a stage is a configuration."""
