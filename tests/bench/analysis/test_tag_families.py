import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.bench.analysis.tag_families import read_families
from cmi.bench.catalog import DATASETS

GOOD = """
[[family]]
dataset = "MTT"
name = "vocals"
[family.groups]
female = ["female", "woman"]
male = ["male"]
[[family.contrasts]]
name = "female v male"
a = ["female"]
b = ["male"]
"""


def write(tmp_path, text):
    path = tmp_path / "families.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_our_own_families_are_valid_and_hold_the_paper_s_groups():
    families = {family.name: family for family in read_families()}
    assert families["instruments by culture"].groups["world, by the paper"] == ("bongo", "harmonica")
    assert {"bossanova", "latin"} <= set(families["genres by region"].groups["Latin American"])
    assert "female voice" in families["vocals by gender"].groups["female"]
    assert all(family.contrasts for family in families.values())
    assert {family.dataset for family in families.values()} <= set(DATASETS.multi_label)


def test_a_user_s_file_is_read(tmp_path):
    (family,) = read_families(write(tmp_path, GOOD))
    assert family.tags(("female", "male")) == ("female", "woman", "male")
    assert family.contrasts[0].a == ("female",)


BAD = {
    "not TOML": ("[[family", "not TOML"),
    "empty": ("", "'family' is missing"),
    "another data set": (GOOD.replace('"MTT"', '"GTZAN"'), "'GTZAN', expected one of MTT"),
    "no such tag": (GOOD.replace('"woman"', '"women"'), "'women' in group 'female', which is not a tag of MTT"),
    "no such group": (
        GOOD.replace('b = ["male"]', 'b = ["men"]'),
        "no group 'men', which its contrast",
    ),
    "twice": (GOOD.replace('male = ["male"]', 'male = ["male", "woman"]'), "'woman' of MTT is in two groups"),
    "no list": (
        GOOD.replace('a = ["female"]', 'a = "female"'),
        "contrasts[0].a' is 'female', expected a list",
    ),
    "no name": (GOOD.replace('name = "vocals"', ""), "'family[0].name' is missing"),
    "no groups": ('[[family]]\ndataset = "MTT"\nname = "x"\n', "'family[0].groups' is missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_file_is_one_sentence_that_names_it(tmp_path, name):
    text, message = BAD[name]
    with pytest.raises(InputError) as error:
        read_families(write(tmp_path, text))
    assert message in str(error.value)
    assert "families.toml" in str(error.value)


def test_a_file_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_families(tmp_path / "none.toml")


@given(st.text(max_size=300))
def test_no_text_does_anything_but_read_or_say_why(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "hypothesis.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError):
        read_families(path)
