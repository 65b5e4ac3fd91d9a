"""What every package uses and none of them is about: errors, files, records, logs, caches, workers."""
