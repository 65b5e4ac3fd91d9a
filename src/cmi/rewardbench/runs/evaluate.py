"""Evaluate a scorer on preferences or ratings in one call."""

from pathlib import Path
from tempfile import TemporaryDirectory

from cmi.reward.scoring.scorers import NamedScorer, load_scorer
from cmi.rewardbench.evaluation.cells import RESAMPLES, RewardCell
from cmi.rewardbench.runs.run import measure_takes, prepare, score_questions
from cmi.rewardbench.runs.run_folder import About
from cmi.rewardbench.runs.sources import read_sources
from cmi.rewardbench.tasks import Protocol
from cmi.take import Scorer


def evaluate(
    scorer: str | Scorer,
    data: Path | str,
    out: Path | str | None = None,
    protocol: Protocol = "strict",
    split: str = "",
    resamples: int = RESAMPLES,
) -> list[RewardCell]:
    """How well a scorer agrees with people: one cell for each task, with its interval, n and best null.

    `scorer` is a name that `cmi.load_scorer` takes, or an object with `score(takes)`. `data` is a data set's name, a
    file of preferences or ratings, or a studio set's folder. With `out` scores are kept there; the same call resumes.

    >>> import json, numpy, soundfile, tempfile
    >>> from pathlib import Path
    >>> import cmi, cmi.rewardbench
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, seconds in {"a": 1, "b": 2, "c": 3}.items():
    ...     soundfile.write(folder / f"{name}.wav", numpy.sin(numpy.arange(seconds * 16_000) / 20), 16_000)
    >>> votes = [("a", "b", "b"), ("c", "a", "a"), ("b", "c", "b")]
    >>> rows = [{"text": "a tune", "a": f"{a}.wav", "b": f"{b}.wav", "axis": "musicality", "choice": choice}
    ...         for a, b, choice in votes]
    >>> _ = (folder / "votes.jsonl").write_text("\\n".join(map(json.dumps, rows)))
    >>> class Longer:
    ...     def score(self, takes):
    ...         return [cmi.Score(soundfile.info(take.audio).duration, 0.0) for take in takes]
    >>> cell = cmi.rewardbench.evaluate(Longer(), folder / "votes.jsonl")[0]
    >>> cell.model, cell.metric, cell.n, cell.value, cell.best_null
    ('Longer', 'ACC', 3, 1.0, 'longer')
    """
    named = load_scorer(scorer) if isinstance(scorer, str) else NamedScorer(type(scorer).__name__, scorer)
    with TemporaryDirectory() as temporary:
        folder = Path(out or temporary)
        questions = prepare([str(data)], folder, split)
        measure_takes(questions, folder, lambda done: None)
        score_questions(questions, About(named.name, named.axes), named, folder, lambda done: None)
        return [cell for source in read_sources([folder]) for cell in source.evaluate(protocol, resamples).cells]
