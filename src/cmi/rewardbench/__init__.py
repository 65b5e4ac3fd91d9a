"""CMI-RewardBench: how well a scorer agrees with people on five tasks."""
