"""A pool of prompts: from your files and published captions, with lyrics and references, by quotas, without repeats.

    from cmi.prompts.pool import PoolPlan, build_pool
    report = build_pool(PoolPlan([Path("captions.csv")], Path("prompts.jsonl"), total=500))

`sources` reads prompts, lyrics and references; `duplicates` finds repeats; `languages` guesses languages; `draw`
chooses prompts by quota; `ask` gets lyrics and captions from models; `pool` puts them together; `report` shows it.
"""
