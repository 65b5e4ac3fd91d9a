from cmi.arena.statistics.summary import agreement, axes, confidences


def test_three_votes_on_a_pair_make_three_vote_pairs_and_one_vote_none(vote):
    votes = [vote("ann", "p1", "a"), vote("bob", "p1", "a"), vote("cat", "p1", "b"), vote("ann", "p2")]
    found = agreement(votes, resamples=10, seed=0)[0]
    assert (found["pairs"], found["votes"], found["vote_pairs"], found["agreeing"]) == (1, 3, 3, 1)


def test_the_axes_are_told_apart(vote):
    votes = [vote(p, f"p{i}", "a", "ab"[p == "bob"]) for i in range(9) for p in ("ann", "bob")]
    alignment, musicality = agreement(votes, resamples=10, seed=0)
    assert (alignment["axis"], alignment["rate"], musicality["axis"], musicality["rate"]) == (
        *("alignment", 1.0),
        *("musicality", 0.0),
    )


def test_the_published_share_of_votes_alike_on_both_axes_comes_out(vote):
    """Table 7 of CMI-RewardBench: 3309 votes prefer the same take, 718 do not, by 31 people."""
    counts = [(3309, "a", 4), (718, "b", 3)]
    votes = [
        vote(f"h{i % 31}", f"{side}{i}", "a", side, alignment_confidence=sure)
        for n, side, sure in counts
        for i in range(n)
    ]
    found = axes(votes, resamples=200, seed=0)
    assert (found["same"], found["different"], round(found["rate"], 3)) == (3309, 718, 0.822)
    assert found["interval_over"] == "people" and found["rate_low"] < found["rate"] < found["rate_high"]
    means = {(one["preference"], one["axis"]): one["mean"] for one in found["confidence"]}
    assert (means["same", "alignment"], means["different", "alignment"]) == (4, 3)


def test_few_people_have_an_interval_over_votes(vote):
    found = axes([vote("ann", "p1", "a", "a"), vote("ann", "p2", "a", "b")], resamples=10, seed=0)
    assert found["interval_over"] == "votes" and 0 < found["rate_low"] < 0.5 < found["rate_high"] < 1


def test_the_shares_of_confidence_add_up_on_each_axis(vote):
    levels = confidences([vote(pair=f"p{i}", musicality_confidence=1 + i % 5) for i in range(20)])["levels"]
    musicality = [one["share"] for one in levels if one["axis"] == "musicality"]
    alignment = {one["confidence"]: one["votes"] for one in levels if one["axis"] == "alignment"}
    assert musicality == [0.2] * 5 and alignment == {1: 0, 2: 0, 3: 20, 4: 0, 5: 0}
