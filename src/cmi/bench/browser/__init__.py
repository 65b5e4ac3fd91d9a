"""The error browser: one page that shows every answer beside its question, truth, reading, score and sound."""
