"""The win-rate matrix from exported votes: by hand, with known probabilities, and through a whole study."""

import json
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.arena.statistics.matrix import matrix_tables, win_matrix
from cmi.arena.store import people
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.database import open_database
from cmi.arena.store.votes import Ballot, save
from cmi.cli import app
from cmi.preferences import Preference
from cmi.reward.pick.candidates import Candidate, Group
from cmi.reward.pick.pick import Weights, pick
from cmi.reward.pick.study import PickStudy, make_study
from cmi.reward.scoring.scorers import ScoredTake
from cmi.take import Pair, Prompt, Score, Take

STUDY = PickStudy(
    "m",
    ("N=1", "N=3", "ground truth"),
    {
        "p": {"N=1": "1.wav", "N=3": "1.wav", "ground truth": "t.wav"},  # N=1 and N=3 are one take
        "q": {"N=1": "2.wav", "N=3": "3.wav", "ground truth": "u.wav"},
    },
)


def vote(prompt, a, b, choice, **about):
    pair = Pair(Prompt(prompt), Path("a.wav"), Path("b.wav"))
    known = {"generator_a": a, "generator_b": b, "x_prompt": prompt}
    return Preference(pair, "musicality", choice, about={**known, **about})


def share(found, row, column):
    return next(one for one in found if (one.row, one.column) == (row, column))


def test_by_hand():
    votes = [
        vote("p", "ground truth", "N=1, N=3", "a"),
        vote("p", "ground truth", "N=1, N=3", "b"),
        vote("q", "N=1", "ground truth", "b"),
        vote("q", "N=1", "N=3", "both"),
        vote("q", "N=1", "N=3", "a", kind="gold"),
        vote("q", "N=1", "N=3", "a", repeat=True),
    ]
    found = win_matrix(votes, STUDY, 200)
    one = share(found, "ground truth", "N=1")
    assert (one.share, one.votes, one.prompts, one.same, one.without_votes) == (0.75, 3, 2, 0, 0)
    assert share(found, "N=1", "ground truth").share == 0.25
    tied = share(found, "N=1", "N=3")
    assert (tied.share, tied.asked, tied.votes, tied.prompts, tied.same) == (0.5, 0.5, 1, 1, 1)
    late = share(found, "N=3", "ground truth")
    assert (late.share, late.prompts, late.without_votes) == (0.5, 1, 1)
    assert 0 < one.low < one.share < one.high <= 1
    matrix, full = matrix_tables(found, STUDY)
    assert matrix.headers == ["", "N=1", "N=3", "ground truth"]
    assert matrix.rows[2] == ["ground truth", "75.0", "50.0", ""]
    assert len(full.rows) == 3
    assert "Votes are missing" in full.notes[1] and "Figure 3" in full.notes[2]


def test_both_directions_add_up_to_one_and_votes_of_any_export_are_enough():
    votes = [vote("p", "x", "y", "a"), vote("q", "y", "x", "a"), vote("r", "x", "y", "a"), vote("r", "x", "z", "b")]
    found = win_matrix(votes, None, 200)
    assert share(found, "x", "y").share == pytest.approx(2 / 3)
    for one in found:
        assert one.share + share(found, one.column, one.row).share == pytest.approx(1)
    assert matrix_tables(found)[0].rows[1] == ["y", "33.3", "", "-"]


def test_votes_of_another_study_and_votes_without_systems_are_refused(tmp_path):
    with pytest.raises(InputError, match="'N=7', which is not a condition of this study"):
        win_matrix([vote("p", "N=1", "N=7", "a")], STUDY)
    with pytest.raises(InputError, match="'other', which is not a prompt of this study"):
        win_matrix([vote("other", "N=1", "N=3", "a")], STUDY)
    assert win_matrix([vote("p", "", "", "a")]) == []
    (tmp_path / "votes.csv").write_text("a,b,axis,choice\n1.wav,2.wav,musicality,a\n")
    with pytest.raises(InputError, match=r"votes\.csv: no vote compares two systems"):
        run("matrix", tmp_path / "votes.csv")


def test_known_probabilities_lie_in_their_intervals_as_often_as_promised():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(150):
        truth = rng.beta(6, 3, 40)  # of each prompt, how often x beats y
        votes = [
            vote(f"p{i}", "x", "y", "a" if rng.random() < p else "b") for i, p in enumerate(truth) for _ in range(4)
        ]
        one = share(win_matrix(votes, None, 300), "x", "y")
        held.append(one.low <= 6 / 9 <= one.high)
    assert 0.88 <= np.mean(held) <= 0.99


def run(*arguments):
    result = CliRunner().invoke(app, ["arena", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_a_study_from_picks_to_the_matrix(tmp_path):
    """Voters who always prefer the better take give the matrix that the qualities say, to the digit."""
    rng = np.random.default_rng(0)
    moments = np.arange(2000) / 8000
    quality, picks = {}, []
    for p in range(12):
        files = [tmp_path / f"p{p}" / f"{name}.wav" for name in (0, 1, 2, 3, "real")]
        files[0].parent.mkdir()
        for i, file in enumerate(files):
            soundfile.write(file, 0.1 * np.sin(2 * np.pi * (200 + 40 * p + 9 * i) * moments), 8000)
            quality[file] = rng.normal() + (1.5 if file.stem == "real" else 0)
        candidates = tuple(Candidate(file.name, Take(Prompt(f"prompt {p}"), file)) for file in files[:4])
        scores = {c.take: ScoredTake(Score(quality[c.take.audio] + rng.normal(), 0.0)) for c in candidates}
        picks.append(pick(Group(f"p{p}", candidates, files[4]), scores, Weights()))
    study = make_study("noisy", picks, [1, 2, 4], tmp_path / "study")
    db, votes = tmp_path / "study.sqlite3", tmp_path / "votes"
    run("import", tmp_path / "study", "--db", db, "--project", "Best of N")
    assert " 0 pairs added" in run("import", tmp_path / "study", "--db", db)  # once more adds nothing
    link = run("invite", "--db", db).strip()
    database = open_database(str(db))
    clock = SimpleNamespace(time=database.now())
    database.now = lambda: clock.time
    person = people.join(database, link.rpartition("#")[2], None, True).person
    while isinstance(view := next_page(database, person)[0], View):
        begin(database, person, view.key)
        clock.time += 60
        better = max("ab", key=lambda side: quality[Path(getattr(view, side).original.path)])
        save(database, person, view.key, Ballot(better, 4, better, 4, "", 30.0, 30.0))
    database.close()
    run("export", votes, "--db", db)
    found = json.loads(run("matrix", votes, "--study", tmp_path / "study", "--json"))["comparisons"]
    for one, other in combinations(study.conditions, 2):
        wins = []
        for takes in study.prompts.values():
            mine, yours = (quality[(tmp_path / "study" / takes[name]).resolve()] for name in (one, other))
            wins.append(0.5 if mine == yours else float(mine > yours))
        for axis in ("alignment", "musicality"):
            row = next(r for r in found if (r["axis"], r["row"], r["column"]) == (axis, one, other))
            assert row["share"] == pytest.approx(np.mean(wins))
            assert row["same"] == wins.count(0.5)
            assert row["without_votes"] == 0
    assert "ground truth" in run("matrix", votes, "--study", tmp_path / "study")
