import numpy as np
import pytest

from cmi.audio import Waveform
from cmi.features import measure_features
from cmi.reward.scoring.scorers import load_scorer
from cmi.rewardbench.evaluation.cells import evaluate
from cmi.rewardbench.evaluation.nulls import null_scores
from cmi.take import Prompt, Take


def test_level_length_and_centroid_of_a_tone(tmp_path, recording):
    heard = measure_features(recording(tmp_path / "tone.wav", amplitude=0.5, seconds=2.0, hertz=1000))
    assert heard.loudness == pytest.approx(20 * np.log10(0.5 / np.sqrt(2)), abs=0.05)
    assert heard.seconds == pytest.approx(2.0) and heard.brightness == pytest.approx(1000, rel=0.02)


def test_silence_is_soft_and_dark_not_an_error():
    heard = measure_features(Waveform(np.zeros(16_000, np.float32), 16_000))
    assert heard.loudness == -180 and heard.brightness == 0.0


@pytest.mark.parametrize("clicks", [2, 6])
def test_density_counts_onsets(clicks):
    rng = np.random.default_rng(0)
    samples = np.zeros(3 * 22_050, np.float32)
    for second in range(3):
        for click in range(clicks):
            start = second * 22_050 + (2 * click + 1) * 22_050 // (2 * clicks)
            samples[start : start + 1000] = 0.3 * rng.normal(size=1000) * np.linspace(1, 0, 1000)
    heard = measure_features(Waveform(samples, 22_050))
    assert heard.density == pytest.approx(clicks, abs=0.4)


def test_a_steady_tone_and_silence_have_no_onsets(tmp_path, recording):
    assert measure_features(recording(tmp_path / "tone.wav", seconds=3.0, rate=22_050)).density < 1
    assert measure_features(Waveform(np.zeros(22_050, np.float32), 22_050)).density == 0


@pytest.mark.parametrize(("name", "better"), [("Louder", "amplitude"), ("Longer", "seconds"), ("Brighter", "hertz")])
def test_nulls_are_scorers_by_name(tmp_path, recording, name, better):
    plain = {"amplitude": 0.1, "seconds": 1.0, "hertz": 300.0}
    less, more = (
        recording(tmp_path / "less.wav", **plain),
        recording(tmp_path / "more.wav", **{**plain, better: 2 * plain[better]}),
    )
    first, second = load_scorer(f"cmi.rewardbench.evaluation.nulls:{name}").score(
        [Take(Prompt(), less), Take(Prompt(), more)]
    )
    assert second.musicality > first.musicality and second.alignment > first.alignment


def test_a_generators_fame_comes_from_other_prompts_alone(pair):
    items = [
        pair("1", "a", generator_a="good", generator_b="bad"),
        pair("2", "b", generator_a="bad", generator_b="good"),
        pair("3", "b", prompt=Prompt("other"), generator_a="good", generator_b="bad"),
        pair("4", "b", prompt=Prompt("other"), generator_a="good", generator_b="bad"),
    ]
    prior = null_scores(items, {})["generator prior"]
    good, bad = prior["cmi-pref", "3"]
    assert (good.musicality, bad.musicality) == (1.0, 0.0)  # not what both votes on this very prompt say
    good, bad = prior["cmi-pref", "1"]
    assert (good.musicality, bad.musicality) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_the_prior_knows_nothing_of_random_votes_and_much_of_partial_ones(pair):
    rng = np.random.default_rng(0)
    names = [f"g{i}" for i in range(6)]

    def accuracy(choose):
        items = []
        for i in range(600):
            a, b = rng.choice(names, 2, replace=False)
            items.append(pair(str(i), choose(a, b), generator_a=str(a), generator_b=str(b)))
        cells = evaluate(items, {}, null_scores(items, {}), "strict", 100).cells
        return next(cell.value for cell in cells if cell.model == "generator prior" and cell.metric == "ACC")

    assert accuracy(lambda a, b: "ab"[rng.integers(2)]) < 0.55
    assert accuracy(lambda a, b: "a" if a > b else "b") > 0.95


def test_ratings_have_a_prior_too_and_unknown_generators_none(rated, pair):
    items = [rated(str(i), 4.0 if i % 2 else 2.0, generator="x" if i % 2 else "y") for i in range(10)] + [pair("p")]
    nulls = null_scores(items, {})
    assert (
        nulls["generator prior"]["pam", "1"][0].musicality == 4.0 and ("cmi-pref", "p") not in nulls["generator prior"]
    )
    assert set(nulls) == {"first", "generator prior"} and ("pam", "1") not in nulls["first"]
