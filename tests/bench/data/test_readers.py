"""Each data set's published layout gives the paper's labels, splits and clips."""

from collections import Counter

import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS, find_corpus
from cmi.bench.data import emo, giantsteps_key, gtzan


def facts(examples):
    return [(e.id, e.output, e.start, e.end, e.split) for e in examples]


def test_every_data_set_of_the_benchmark_has_a_source():
    assert Counter(d.name for corpus in DATASETS.corpora.values() for d in corpus.datasets) == Counter(list(DATASETS))


@pytest.mark.parametrize("name", [name for name in DATASETS.corpora if name not in ("released", "mirdata")])
def test_a_source_makes_what_it_says(name, built, read):
    assert {example.dataset for example in read(name, built(name))} == {
        dataset.name for dataset in find_corpus(name).datasets
    }


@pytest.mark.parametrize("name", DATASETS.corpora)
def test_an_empty_folder_is_one_sentence(name, tmp_path, read):
    if name == "gtzan":
        return  # its labels are in its names: every recording is missing, and listed
    with pytest.raises(InputError) as error:
        read(name, tmp_path)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("name", DATASETS.corpora)
def test_no_folder_is_one_sentence(name, tmp_path, read):
    with pytest.raises(InputError, match="no such f"):
        read(name, tmp_path / "absent")


def test_an_unknown_data_set_lists_the_known_ones():
    with pytest.raises(InputError, match="giantsteps-key"):
        find_corpus("nonesuch")


def test_giantsteps_cuts_whole_30_second_clips_and_spells_with_flats(built, read):
    assert facts(read("giantsteps-key", built("giantsteps-key"))) == [
        ("1000001-0", "Db minor", 0.0, 30.0, "test"),
        ("1000001-1", "Db minor", 30.0, 60.0, "test"),
        ("0000022-0", "Bb major", 0.0, 30.0, "test"),
    ]


def test_giantsteps_without_audio_names_the_track_once(built, read, tmp_path):
    examples = read("giantsteps-key", built("giantsteps-key"), tmp_path / "giantsteps-key" / "annotations")
    assert [e.audio for e in examples] == ["1000001.LOFI", "22.LOFI"]


def test_a_recording_that_can_t_be_read_is_one_clip(built, read):
    folder = built("giantsteps-key")
    (folder / "audio" / "1000001.LOFI.wav").write_bytes(b"not audio")
    assert [e.id for e in read("giantsteps-key", folder)] == ["1000001-0", "0000022-0"]


@pytest.mark.parametrize("text", ["", "X", "D major/minor", "D", "multiple keys", "H minor", "D dorian"])
def test_a_label_that_is_none_of_the_24_keys_is_no_key(text):
    assert giantsteps_key.label(text) is None


def test_emo_z_scores_each_axis_by_its_own_development_songs(built, read):
    examples = read("emo", built("emo"))
    arousal = {e.id: float(e.output) for e in examples if e.dataset == "EMO_arousal"}
    valence = {e.id: float(e.output) for e in examples if e.dataset == "EMO_valence"}
    assert arousal["0005"] == pytest.approx((3 - 5) / 5**0.5)
    assert valence["0005"] == pytest.approx((9 - 5) / 2**0.5)
    assert {e.id for e in examples if e.split == "test"} == {"0005", "0006", "0007"}
    assert {(e.start, e.end) for e in examples} == {(0.0, 45.0)}


def test_emo_artists_keep_their_split_however_they_are_written():
    assert emo.split_of("development", "The Band!") == emo.split_of("development", " the  BAND ")


def test_magnatagatune_names_tags_by_frequency_and_splits_by_folder(built, read):
    examples = read("magnatagatune", built("magnatagatune"))
    assert [(e.split, e.output) for e in examples] == [
        ("train", "rock"),
        ("dev", "rock"),
        ("test", "guitar, rock"),
        ("test", ""),
        ("test", "slow, female vocal"),
    ]


def test_mtg_jamendo_sorts_tags_and_finds_the_low_files(built, read):
    examples = read("mtg-jamendo", built("mtg-jamendo"))
    test = {e.dataset: e for e in examples if e.split == "test" and e.id == "track_0000001"}
    assert test["MTG_genre"].output == "indie, rock"
    assert test["MTG_instrument"].output == "guitar, voice"
    assert test["MTG_emotion"].output == "calm, sad"
    assert test["MTG_top50tags"].output == "happy, rock"
    assert {e.audio for e in test.values()} == {"audio-low/01/1.low.wav"}
    assert {e.split for e in examples} == {"train", "dev", "test"}


def test_nsynth_gives_family_and_pitch(built, read):
    examples = read("nsynth", built("nsynth"))
    assert [(e.dataset, e.output, e.end) for e in examples[:2]] == [
        ("Nsynth_instrument", "bass", None),
        ("Nsynth_pitch", "49", None),
    ]


def test_gtzan_has_the_filtered_split_of_442_197_and_290():
    assert Counter(gtzan.splits().values()) == {"train": 442, "dev": 197, "test": 290}
    assert "jazz.00054" not in gtzan.splits()


def test_gtzan_rhythm_rounds_to_10_ms_and_leaves_out_what_the_filter_does(built, read):
    assert [(e.dataset, *facts([e])[0]) for e in read("gtzan-rhythm", built("gtzan-rhythm"))] == [
        ("gtzan_beat", "blues.00012", "0.1s,0.62s,1.12s,30.49s", 0.0, 30.0, "test"),
        ("gtzan_downbeat", "blues.00012", "0.62s,30.49s", 0.0, 30.0, "test"),
        ("gtzan_beat", "pop.00010", "0.5s,1.0s", 0.0, 30.0, "dev"),
        ("gtzan_beat", "rock.00086", "0.5s", 0.0, 30.0, "test"),
        ("gtzan_downbeat", "rock.00086", "0.5s", 0.0, 30.0, "test"),
    ]


def test_ballroom_leaves_replicas_out(built, read):
    assert facts(read("ballroom", built("ballroom"))) == [
        ("Media-1", "1.61s,2.07s,2.52s", 0.0, 30.0, "test"),
        ("Media-1", "1.61s,2.52s", 0.0, 30.0, "test"),
    ]


def test_vocalset_cuts_3_second_clips_and_splits_by_singer(built, read):
    assert facts(read("vocalset", built("vocalset"))) == [
        ("f1/trillo/f1_long_trillo_e_00", "trillo", 0.0, 2.0, "train"),
        ("f2/belt/f2_scales_belt_a_00", "belt", 0.0, 3.0, "test"),
        ("f2/belt/f2_scales_belt_a_01", "belt", 3.0, 6.0, "test"),
        ("m10/lip_trill/scales_lip_trill_00", "lip_trill", 0.0, 3.0, "test"),
    ]


def test_song_describer_asks_once_for_each_caption(built, read):
    examples = read("song-describer", built("song-describer"))
    assert facts(examples) == [("7", "A calm, slow piece", 0.0, 30.0, "test"), ("8", "Piano", 0.0, 30.0, "test")]
    assert {e.audio for e in examples} == {"audio/34/1004034.2min.wav"}


def test_musiccaps_tests_on_audioset_s_evaluation_clips(built, read):
    assert facts(read("musiccaps", built("musiccaps"))) == [
        ("-0Gj8-vB1q4", "A ballad,\nsung softly", 0.0, 10.0, "test"),
        ("abc", "Drums", 0.0, 10.0, "train"),
    ]


def test_dsing_keeps_the_line_s_place(built, read):
    (line,) = read("dsing", built("dsing"))
    assert (line.output, line.start, line.end) == ("MADE UP WORDS I'M SURE", 54.724, 56.64)
    assert line.audio == "sing_300x30x2/GB/GBVocals/1-GB-M.wav"


def test_medleydb_lists_frames_of_10_second_clips(built, read):
    examples = read("medleydb", built("medleydb"))
    gospel = [e for e in examples if e.split == "test"]
    assert [(e.start, e.end) for e in gospel] == [(0.0, 10.0), (10.0, 20.0)]
    assert gospel[0].output.startswith("[('0.0058', 0), ('0.0116', 0), ")
    assert gospel[0].output.endswith(", 69)]")
    assert [e.output for e in examples if e.split == "train"] == ["[('0.5000', 60)]"]


def test_guzheng_gives_each_event_to_the_clip_it_begins_in(built, read):
    examples = read("guzheng-tech99", built("guzheng-tech99"))
    assert facts(e for e in examples if e.split == "test") == [
        ("74-0", "[('0.5000', '1.2500', 'Vibrato'), ('9.9000', '10.7500', 'Plucks')]", 0.0, 10.0, "test"),
        ("74-10", "[('0.0', '10.0', 'No Tech')]", 10.0, 20.0, "test"),
        ("74-20", "[('0.0', '10.0', 'No Tech')]", 20.0, 30.0, "test"),
        ("74-30", "[('31.0000', '31.5000', 'Tremolo')]", 30.0, 40.0, "test"),
    ]


@pytest.mark.parametrize(
    ("name", "path", "text", "place"),
    [
        ("guzheng-tech99", "data/label/test/74.csv", "onset_time,offset_time,IPT\n1,2,nonesuch\n", "line 2"),
        ("guzheng-tech99", "data/label/test/74.csv", "onset_time,offset_time\n1,2\n", "line 1"),
        ("medleydb", "melody2/MusicDelta_Gospel_MELODY2.csv", "0.5,1\n0.6\n", "line 2"),
        ("ballroom", "annotations/beats/Media-1.beats", "0.5 1\nnan 2\n", "line 2"),
        ("ballroom", "annotations/beats/Media-1.beats", "0.5 1 2\n", "line 1"),
        ("dsing", "DSing Preconstructed/test.csv", "utterance_id,recording,start,end,text\nu,r,one,2,T\n", "line 2"),
        ("musiccaps", "musiccaps-public.csv", "ytid,caption,is_audioset_eval\na,b,maybe\n", "line 2"),
        ("song-describer", "song_describer.csv", "caption_id,caption,path\n1,two\n", "line 2"),
        ("emo", "annotations/static_annotations.csv", "song_id,mean_arousal,mean_valence\n99,1,2\n", "line 2"),
        ("nsynth", "nsynth-test/examples.json", '{"a": {"pitch": 3}}', "'instrument_family_str'"),
        ("nsynth", "nsynth-test/examples.json", "[" * 100_000, "not JSON"),
        ("released", "CMI_GTZAN.jsonl", '{"instruction": "?"}\n', "line 1"),
    ],
)
def test_a_broken_file_is_named_with_its_line(name, path, text, place, built, read):
    folder = built(name)
    (folder / path).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read(name, folder)
    assert path.rpartition("/")[2] in str(error.value)
    assert place in str(error.value)


def test_text_in_another_encoding_is_one_sentence(built, read):
    folder = built("song-describer")
    (folder / "song_describer.csv").write_bytes("caption_id,caption,path\n1,Café,1.mp3\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"song_describer\.csv: not UTF-8"):
        read("song-describer", folder)
