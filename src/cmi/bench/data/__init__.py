"""The corpora behind CMI-Bench: each module turns the files of one corpus into questions with answers.

A module holds a `CORPUS` (`cmi.bench.catalog.Corpus`): its description, ours from `corpora.toml`, and
`read(folder, sounds)`, which yields every question of every split, with or without its audio. That is all:
`cmi.bench.catalog` finds the modules of this package, and `cmi.bench.make` words and writes the questions.
"""
