"""cmi evaluates music generators, reward models and audio language models, with text, lyrics and reference audio.

Each job in one line:

    scores = cmi.load_scorer("nano").score([cmi.Take(cmi.Prompt("slow sad piano"), Path("take.wav"))])
    sound = cmi.load_generator("studio").generate(cmi.Prompt("slow sad piano"), seed=0, seconds=10.0)
    best = cmi.pick_best(takes, cmi.load_scorer("nano"))
    cells = cmi.bench.score("answers/", annotations="annotations/")
    cells = cmi.rewardbench.evaluate("nano", "votes.jsonl")
    ranking = cmi.stats.rank(cmi.read_preferences("votes.jsonl"))
    labels = cmi.judge.label("pairs.jsonl", "scorer:nano", "runs/labels")

Names are imported when they are first used: `import cmi` loads neither numpy nor torch.
"""

from cmi._util.lazy import lazy_names

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_names(__name__)
