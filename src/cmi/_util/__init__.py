"""Infrastructure shared by all packages: errors, files, records, logs, caches, workers."""
