"""The page of `cmi score`: scores over time are drawn on each take's own scale."""

import re
from pathlib import Path

from cmi.report.players import Outline
from cmi.reward.scoring.explain import Explanation
from cmi.reward.scoring.page import DrawnTake, score_page
from cmi.reward.scoring.scorers import TakeSection
from cmi.take import Prompt, Score, Take


def drawn_take(name: str, musicality: list[float], seconds: float = 30.0) -> DrawnTake:
    sections = tuple(TakeSection(10.0 * i, 10.0 * i + 10, Score(one, 0.0)) for i, one in enumerate(musicality))
    record = {"id": name, "musicality": sum(musicality) / len(musicality), "alignment": 0.0, "seconds": 30.0}
    outline = Outline(seconds, [0.5] * 240)
    return DrawnTake(record, Take(Prompt("piano"), Path(f"{name}.wav")), outline, Explanation(name, sections))


def musicality_tracks(page: str) -> list[str]:
    return re.findall(r'aria-label="\w+: musicality over time"><path d="([^"]+)"', page)


def test_a_take_far_below_the_others_does_not_flatten_them():
    takes = [drawn_take("good", [4.0, 5.0, 4.5]), drawn_take("bad", [-20.0, -19.0, -19.5])]
    first, second = musicality_tracks(score_page(takes, [], "nano", str))
    assert first == second
    assert len({point.split()[1] for point in first[1:].split(" L")}) == 4  # three heights, and the base line


def test_small_differences_are_drawn_smaller_than_typical_ones():
    takes = [drawn_take("a", [1.0, 3.0]), drawn_take("b", [1.0, 3.0]), drawn_take("even", [1.9, 2.0])]

    def drop(path: str) -> float:
        heights = [float(point.split()[1]) for point in path[1:].split(" L")[1:-1]]
        return max(heights) - min(heights)

    usual, _, even = map(drop, musicality_tracks(score_page(takes, [], "nano", str)))
    assert 0 < even < usual / 5


def test_a_page_says_where_scores_are_extreme_and_which_part_was_not_scored():
    page = score_page([drawn_take("long", [1.0, 3.0, 2.0], seconds=240.0)], [("odd", "odd: silent")], "nano", str)
    assert "scored: the first 0:30 of 4:00" in page and 'class="unheard"' in page
    assert re.search(r"weakest <button[^>]*>0:00</button> 1\.000, strongest <button[^>]*>0:10</button> 3\.000", page)
    assert "<td>odd</td><td>silent</td>" in page
    assert 'class="unheard"' not in score_page([drawn_take("whole", [1.0, 3.0, 2.0])], [], "nano", str)
