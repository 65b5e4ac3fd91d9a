"""Ablations: variants of a training configuration, trained, tested on the same rows and compared with a reference.

matrix     the file that names variants, tables and findings; a variant's configuration
run        train and score the variants; the same call resumes
published  the paper's tables as printed
results    values with intervals, differences from the reference, nulls, findings; tables of them
"""
