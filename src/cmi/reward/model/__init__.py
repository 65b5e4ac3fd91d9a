"""The reward model: its head, its frozen encoders, and the checkpoints that hold both."""
