"""Our reader of WordNet's files gives what NLTK's gives."""

import random
import zipfile
from pathlib import Path

import nltk

from cmi._util.errors import InputError
from cmi.bench.metrics import wordnet
from cmi.bench.metrics.tools import Tools
from cmi.bench.metrics.wordnet import load_thesaurus

PARTS = ("noun", "verb", "adj", "adv")


def words(folder: Path) -> list[str]:
    """Lemmas, lemmas with endings, and every irregular form."""
    lines = [line for part in PARTS for line in (folder / f"index.{part}").read_text().splitlines()]
    lemmas = random.Random(0).sample([line.split(" ")[0] for line in lines if line[0] != " "], 6000)
    inflected = [lemma + ending for lemma in lemmas[:1500] for ending in ("s", "es", "ed", "ing", "er", "est", "ies")]
    irregular = [line.split()[0] for part in PARTS for line in (folder / f"{part}.exc").read_text().splitlines()]
    return [*lemmas, *inflected, *irregular, "", "xyzzy", "İstanbul", "唱"]


def test_synonyms_are_those_of_nltk(debian, nltk_wordnet):
    ours = load_thesaurus()
    for word in words(debian):
        lemmas = (lemma.name() for sense in nltk_wordnet.synsets(word) for lemma in sense.lemmas())
        assert ours.synonyms(word) == {name for name in lemmas if "_" not in name} | {word}, word


def test_nltk_data_goes_before_debian_and_may_be_a_zip_file(debian, tmp_path, monkeypatch):
    (tmp_path / "corpora").mkdir()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
        for file in debian.iterdir():
            if file.is_file():
                archive.write(file, f"wordnet/{file.name}")
    expected = load_thesaurus().synonyms("drum")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "nowhere")
    assert load_thesaurus().synonyms("drum") == expected


def test_without_wordnet_the_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path)
    found = Tools().thesaurus
    assert isinstance(found, InputError)
    assert "apt-get install wordnet-base" in str(found)
