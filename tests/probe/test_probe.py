"""Each probe is seen to pass and to fail, with scorers whose virtues and vices are plain."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.probe import report as probe_report
from cmi.probe import versions as probes
from cmi.probe.probe import CHUNK, Bounds, probe
from cmi.reward.scoring.scorers import NamedScorer
from cmi.studio import recordings
from cmi.studio.flaws import SOUND_FLAWS, TAPE_FLAWS
from cmi.take import Score

RATE = 22_050
RECORDING_FLAWS = [flaw.name for flaw in (*SOUND_FLAWS, *TAPE_FLAWS)]
SOME_FLAWS = ("clipping", "level", "wrong-notes", "detuned-part", "random-tune", "bars-shuffled")


def decoded(path):
    """Mono at 22.05 kHz or so, whatever the file is."""
    sound, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return sound.mean(axis=1), rate


def bands(path):
    """The shares of energy in eight octaves up to 10 kHz; 0 to 1 whatever the level."""
    mono, rate = decoded(path)
    power = np.abs(np.fft.rfft(mono, 2 ** (len(mono) - 1).bit_length())) ** 2
    edges = np.searchsorted(np.linspace(0, rate / 2, len(power)), 10_000 / 2.0 ** np.arange(8, -1, -1))
    octaves = np.add.reduceat(power, edges)[:-1]
    return octaves / octaves.sum()


class Loudness:
    def score(self, takes):
        return [Score(20 * np.log10(np.sqrt(np.mean(decoded(take.audio)[0] ** 2))), 0) for take in takes]


class Treble:
    def score(self, takes):
        return [Score(bands(take.audio)[-2:].sum(), 0) for take in takes]


class Constant:
    def score(self, takes):
        return [Score(1, 1) for _ in takes]


class Likeness:
    """Hears how like the reference a take is; the opposite if `sign` is -1."""

    def __init__(self, sign=1):
        self.sign = sign

    def score(self, takes):
        return [Score(0, -self.sign * self.distance(take)) for take in takes]

    def distance(self, take):
        if take.prompt.reference is None:
            return 0.0
        return float(np.abs(bands(take.audio) - bands(take.prompt.reference)).sum())


class KnowsTheClean:
    """Knows every clean recording and how far a take is from it; each song has a merit of its own."""

    def __init__(self, sounds):
        self.sounds = [sound.mean(axis=1) for sound in sounds]

    def score(self, takes):
        return [Score(self.merit(*decoded(take.audio)), 0) for take in takes]

    def merit(self, mono, rate):
        likeness = [self.correlation(clean, mono) for clean in self.sounds]
        best = int(np.argmax(likeness))
        return 100 * best + likeness[best]

    def correlation(self, a, b):
        n = min(len(a), len(b))
        return float(a[:n] @ b[:n] / max(np.linalg.norm(a[:n]) * np.linalg.norm(b[:n]), 1e-9))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four chords of harmonics, each of another level and brightness, with a few beats a second."""
    folder = tmp_path_factory.mktemp("songs")
    t = np.arange(round(1.2 * RATE)) / RATE
    for i in range(4):
        rng = np.random.default_rng(i)
        notes = [110 * 2 ** (rng.integers(0, 24) / 12) for _ in range(3)]
        tones = [
            np.sin(2 * np.pi * f * k * t) / k ** (0.8 + i / 4) for f in notes for k in range(1, 20) if f * k < 9000
        ]
        sound = np.sum(tones, axis=0) * np.exp(-3 * (t % (0.3 + 0.1 * i))) * 10 ** (-i / 20)
        soundfile.write(folder / f"song{i}.wav", 0.05 * sound[:, None] * (1, 0.8), RATE)
    (folder / "notes.txt").write_text("not a recording")
    return folder


@pytest.fixture(scope="module")
def songs(folder):
    return probes.read_songs(folder, 16, 20)


@pytest.fixture(scope="module")
def asked_of(songs):
    """A report on a scorer of this module; each is made once."""
    made = {}

    def report(name, scorer):
        if name not in made:
            made[name] = probe(NamedScorer(name, scorer), songs)
        return made[name]

    return report


@pytest.fixture(scope="module")
def pieces():
    """Three short pieces, with a few flaws of each family; what is sung over them is short too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "FLAWS", {name: probes.FLAWS[name] for name in SOME_FLAWS})
        patch.setattr(recordings, "SECONDS", 5)
        yield probes.compose_songs(3, 5, seed=1)


def verdicts(findings, key):
    return {getattr(finding, key): finding.passed for finding in findings}


def test_a_scorer_by_loudness_fails_the_gain_probe_alone(asked_of):
    passed = verdicts(asked_of("loudness", Loudness()).changes, "probe")
    assert {name for name, ok in passed.items() if not ok} == {"gain +6 dB", "gain -6 dB"}
    assert set(passed) == set(probes.UNCHANGED)


def test_a_change_is_measured_in_spreads_of_the_clean_songs(asked_of, folder):
    report = asked_of("loudness", Loudness())
    levels = [score.musicality for score in Loudness().score(list(map(_take, sorted(folder.glob("*.wav")))))]
    gain = next(change for change in report.changes if change.probe == "gain +6 dB")
    assert gain.n == 4
    assert gain.mean == pytest.approx(6 / np.std(levels, ddof=1), rel=0.01)
    assert math.isnan(gain.interval.low)  # four songs are too few to draw from


def _take(path):
    return probes.Take(probes.Prompt(), path)


def test_the_bounds_are_the_users(songs):
    lenient = probe(NamedScorer("loudness", Loudness()), songs[:3], bounds=Bounds(change=1e6, fall=0, trend=1, order=0))
    assert all(lenient.verdicts)


def test_loudness_hears_a_level_that_falls_and_no_gaps(asked_of):
    falls = {fall.flaw: fall for fall in asked_of("loudness", Loudness()).falls}
    level = falls["level"]
    assert (level.passed, level.share, level.trend) == (True, 1.0, -1.0)
    assert level.interval == pytest.approx((0.51, 1.0), abs=0.01)
    assert not falls["dropouts"].passed
    assert np.all(np.diff((0, *level.curve)) < 0)


def test_a_scorer_by_treble_likes_hiss_and_mistakes_no_gain(asked_of):
    report = asked_of("treble", Treble())
    falls = {fall.flaw: fall for fall in report.falls}
    assert falls["low-pass"].passed
    assert (falls["noise"].passed, falls["noise"].share) == (False, 0.0)
    assert falls["noise"].trend > 0.5
    assert verdicts(report.changes, "probe")["gain +6 dB"]


def test_a_constant_scorer_is_steady_and_hears_nothing(asked_of):
    report = asked_of("constant", Constant())
    assert all(change.passed and change.mean == 0 for change in report.changes)
    assert not any(fall.passed for fall in report.falls)
    assert {(fall.share, fall.trend) for fall in report.falls} == {(0.0, 0.0)}
    assert {order.share for order in report.orders} == {0.0}
    assert "All clean songs have the same musicality." in report.notes


def test_one_that_knows_the_clean_files_passes_every_flaw_it_can_hear(songs):
    knowing = KnowsTheClean([song.sound() for song in songs])
    report = probe(NamedScorer("knowing", knowing), songs)
    failed = {fall.flaw for fall in report.falls if not fall.passed}
    # A correlation does not mind the level, is lost with the least delay, and finds these songs' fragments all alike.
    assert failed <= {"level", "wavering", "fragments"}
    assert {fall.flaw for fall in report.falls} == set(RECORDING_FLAWS)  # recordings have no notes


@pytest.mark.parametrize(("sign", "share"), [(1, 1.0), (-1, 0.0)])
def test_the_take_itself_is_the_best_reference(asked_of, sign, share):
    orders = asked_of(f"likeness {sign}", Likeness(sign)).orders
    assert [(order.n, order.share, order.passed) for order in orders] == [(4, share, share == 1)] * 2
    assert [order.chance for order in orders] == pytest.approx([1 / 2, 1 / 3])


def test_a_moved_score_with_no_spread_is_infinite_and_not_json(songs):
    class OnlyGain:
        def score(self, takes):
            return [Score("gain" in take.audio.name, 0) for take in takes]

    report = probe(NamedScorer("only gain", OnlyGain()), songs[:3])
    assert not verdicts(report.changes, "probe")["gain +6 dB"]
    record = json.loads(json.dumps(report.record(), allow_nan=False))
    assert record["changes"][0]["mean"] is None
    assert (record["model"], record["songs"], record["seed"]) == ("only gain", 3, 0)
    assert probe_report.tables(report)[0].rows[0][3] == "-"


def test_takes_are_asked_for_in_chunks_and_their_files_go(songs):
    places, sizes, steps = set(), [], []

    class Watching(Constant):
        def score(self, takes):
            sizes.append(len(takes))
            places.update(take.audio for take in takes)
            return super().score(takes)

    report = probe(NamedScorer("watching", Watching()), songs[:3], on_scored=lambda *step: steps.append(step))
    assert max(sizes) <= CHUNK
    assert report.takes == 3 * (1 + 8 + len(RECORDING_FLAWS) * 4 + 3)
    assert 0.9 * report.takes < sum(sizes) <= report.takes  # versions with the same bytes are scored once
    assert steps[0] == (0, report.takes)
    assert steps[-1] == (report.takes, report.takes)
    assert not any(path.exists() or path.parent.exists() for path in places)


class Informed:
    """Knows which prompts fit, and how far a take is from its clean recording; the opposite if `sign` is -1."""

    def __init__(self, pieces, seed, sign=1):
        versions = list(probes.plan(pieces, [Path(str(i)) for i in range(len(pieces))], seed))
        fitting = (probes.CLEAN, probes.PARAPHRASE, probes.SUNG)
        self.fitting = {(v.prompt.text, v.prompt.lyrics) for v in versions if v.name in fitting}
        self.knowing = KnowsTheClean([piece.sound() for piece in pieces])
        self.sign = sign

    def score(self, takes):
        merits = [score.musicality for score in self.knowing.score(takes)]
        return [Score(self.sign * m, self.sign * self.fits(take)) for m, take in zip(merits, takes, strict=True)]

    def fits(self, take):
        prompt = take.prompt
        own = prompt.reference in (None, take.audio)
        return float(own and (prompt.text, prompt.lyrics) in self.fitting)


@pytest.fixture(scope="module")
def informed(pieces):
    return probe(NamedScorer("informed", Informed(pieces, seed=1)), pieces, seed=1)


def test_pieces_are_probed_for_flaws_of_every_family(informed):
    assert {fall.family for fall in informed.falls} == {"production", "performance", "composition"}
    passed = verdicts(informed.falls, "flaw")
    assert passed["wrong-notes"]
    assert passed["random-tune"]
    assert informed.soundfont.endswith(".sf2@" + informed.soundfont[-12:])


def test_an_informed_scorer_passes_every_prompt_probe(informed):
    assert {order.probe: order.share for order in informed.orders} == dict.fromkeys(
        (order.probe for order in informed.orders), 1.0
    )
    assert len(informed.orders) == 6
    assert verdicts(informed.orders, "probe")["caption above no caption"] is None  # no right answer is known
    paraphrase = next(change for change in informed.changes if change.probe == probes.PARAPHRASE)
    assert paraphrase.passed


def test_its_opposite_fails_every_prompt_probe(pieces):
    report = probe(NamedScorer("contrary", Informed(pieces, seed=1, sign=-1)), pieces, seed=1)
    assert {order.share for order in report.orders} == {0.0}
    assert [fall.flaw for fall in report.falls if fall.passed] == []


def test_tables_and_picture_say_what_was_found(informed, tmp_path):
    changes, falls, orders = probe_report.tables(informed)
    assert changes.rows[-1][:4] == ["(random scorer)", "any", "", "1.13"]
    assert len(falls.rows) == len(SOME_FLAWS) + 1
    assert f"{informed.takes} takes scored: 3 pieces by the studio, 5 s, seed 1, soundfont" in orders.notes[-1]
    for name in ("probe.png", "probe.svg"):
        probe_report.draw(informed, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000


def test_the_seed_decides_everything(pieces, tmp_path):
    def written(seed, folder):
        folder.mkdir()
        songs = probes.compose_songs(3, 5, seed)
        versions = list(probes.plan(songs, [Path("a.wav"), Path("b.wav"), Path("c.wav")], seed))
        some = random.Random(0).sample([v for v in versions if v.suffix == ".wav" and v.name != probes.SUNG], 12)
        return [(v.prompt, v.take(folder, Path("clean.wav")).audio.name) for v in some], [
            path.read_bytes() for path in sorted(folder.iterdir())
        ]

    first = written(1, tmp_path / "first")
    assert first == written(1, tmp_path / "again")
    assert first != written(2, tmp_path / "other")


def test_folders_that_can_not_be_probed_are_refused(tmp_path):
    with pytest.raises(InputError, match="nowhere: not a folder"):
        probes.read_songs(tmp_path / "nowhere", 16, 20)
    for i in range(2):
        soundfile.write(tmp_path / f"{i}.wav", np.zeros(RATE * 2), RATE)
    with pytest.raises(InputError, match="2 recordings, expected 3 or more"):
        probes.read_songs(tmp_path, 16, 20)
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    silent, _, broken = probes.read_songs(tmp_path, 16, 20)
    with pytest.raises(InputError, match=r"0\.wav: silent: "):
        silent.sound()
    with pytest.raises(InputError, match=r"broken\.wav: "):
        broken.sound()


def test_takes_in_subfolders_are_probed_as_the_other_commands_read_them(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}").mkdir()
        soundfile.write(tmp_path / f"{i}" / "take.wav", np.zeros(RATE), RATE)
        (tmp_path / f"{i}" / "prompt.txt").write_text("slow")
    assert [song.path.parent.name for song in probes.read_songs(tmp_path, 16, 20)] == ["0", "1", "2"]


def test_too_few_songs_are_refused(songs):
    with pytest.raises(InputError, match="2 songs, expected 3 or more"):
        probe(NamedScorer("constant", Constant()), songs[:2])
