"""The parser takes verdicts and nothing else, whatever a model writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.judge.parse import LONGEST, parse
from cmi.judge.prompt_file import Role, packaged, read_role
from cmi.judge.verdict import Opinion, Verdict, verdict_from_json

OVERALL = read_role("overall")
TWO = read_role("two-axes")
GOOD = {"overall_preference": "model_a", "score_a": 7, "score_b": 5.5}


def opinion(text: str, role: Role = OVERALL) -> Opinion | None:
    return parse(text, role).opinions.get("overall")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f"Let me think {{hm}}. My verdict:\n{json.dumps(GOOD)}\nI hope that helps.",
        json.dumps(GOOD | {"extra": {"nested": [1, 2]}}),
        json.dumps({"Overall_Preference": " Model A ", "SCORE_B": "5.5", "score_a": "7"}),
        json.dumps(GOOD | {"overall_preference": "audio a"}),
        json.dumps(GOOD) + "\n" + json.dumps(GOOD),
    ],
)
def test_a_verdict_is_found_in_what_models_write_around_it(text: str):
    assert opinion(text) == Opinion("a", 7.0, 5.5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("model_a is better", "no JSON object"),
        (json.dumps({**GOOD, "score_a": 11}), "'score_a' is not from 1 to 10"),
        (json.dumps({**GOOD, "score_a": 0}), "'score_a' is not from 1 to 10"),
        (json.dumps({**GOOD, "score_a": True}), "'score_a' is not a number"),
        (json.dumps({**GOOD, "score_a": [7]}), "'score_a' is not a number"),
        ('{"overall_preference": "model_a", "score_a": NaN, "score_b": 5}', "'score_a' is not a number"),
        ('{"overall_preference": "model_a", "score_a": 1e999, "score_b": 5}', "'score_a' is not a number"),
        (json.dumps({**GOOD, "overall_preference": "model_c"}), "none of model_a"),
        (json.dumps({**GOOD, "overall_preference": "model_a/model_b/both/neither"}), "none of model_a"),
        (json.dumps({"overall_preference": "model_a", "score_a": 3}), "'score_b' is missing"),
        (json.dumps({"winner": "model_a"}), "missing"),
        ('{"score_a": 3, "score_a": 4, "score_b": 1, "overall_preference": "both"}', "twice"),
        (json.dumps(GOOD) + json.dumps({**GOOD, "overall_preference": "model_b"}), "contradict"),
        (json.dumps(GOOD)[:-4], "no JSON object"),
        ("{" * 5000, "braces"),
        (json.dumps(GOOD) + " " * LONGEST, "longer"),
        ("[" * 100_000, "no JSON object"),
    ],
)
def test_what_is_no_verdict_is_kept_raw_with_the_reason(text: str, why: str):
    verdict = parse(text, OVERALL)
    assert verdict == Verdict(raw=text, why=verdict.why)
    assert why in verdict.why


def test_one_axis_that_is_missing_makes_it_no_verdict():
    value = {"music_quality": "model_b", "MQ_score_a": 3, "MQ_score_b": 6.5, "IF_score_a": 2, "IF_score_b": 2}
    assert parse(json.dumps(value), TWO).why == "the key 'instruction_following' is missing"
    found = parse(json.dumps(value | {"instruction_following": "neither"}), TWO).opinions
    assert found == {"musicality": Opinion("b", 3.0, 6.5), "alignment": Opinion("neither", 2.0, 2.0)}


def test_marks_that_contradict_the_choice_are_told():
    assert Opinion("a", 2.0, 5.0).at_odds and not Opinion("b", 2.0, 5.0).at_odds
    assert not Opinion("both", 2.0, 5.0).at_odds and not Opinion("a").at_odds


@given(st.text(max_size=3000))
def test_no_answer_crashes_the_parser(text: str):
    for role in (OVERALL, TWO):
        verdict = parse(text, role)
        assert verdict.raw == text and bool(verdict.why) != bool(verdict.opinions)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
)
hostile = st.dictionaries(
    st.sampled_from(["overall_preference", "score_a", "score_b", "SCORE_A", "x"]),
    json_values | st.sampled_from(["model_a", "both", 1, 10, "10", 10.5]),
)


@given(hostile, st.text(max_size=50), st.text(max_size=50))
def test_whatever_is_parsed_is_in_range(value: dict[str, object], before: str, after: str):
    verdict = parse(before + json.dumps(value) + after, OVERALL)
    for said in verdict.opinions.values():
        assert said.choice in ("a", "b", "both", "neither")
        assert said.score_a is not None and 1 <= said.score_a <= 10
        assert said.score_b is not None and 1 <= said.score_b <= 10


@given(st.text(alphabet=st.characters(categories=["Cc", "Cf", "Cs"]), max_size=200))
def test_control_characters_do_not_reach_the_reason(noise: str):
    role = read_role("strict-musicality")
    verdict = parse(json.dumps({"overall_preference": "both", "score_a": 1, "score_b": 5, "reason": noise}), role)
    assert all(c.isprintable() or c == "\n" for c in verdict.reason)


@pytest.mark.parametrize(
    ("answer", "mark", "why"),
    [
        ('{"score": 3.5}', 3.5, ""),
        ('I would say {"SCORE": "4", "why": "clean"}.', 4.0, ""),
        ('{"score": 3} and {"score": 3}', 3.0, ""),
        ('{"score": 3} or {"score": 4}', None, "contradict"),
        ('{"score": 7}', None, "score"),
        ('{"score": NaN}', None, "score"),
        ('{"mark": 3}', None, "score"),
        ('{"a": 1} {"b": 2}', None, "none of its JSON objects has a mark"),
        ("4", None, "no JSON object"),
    ],
)
def test_a_mark_for_one_take_is_read_without_guessing(answer: str, mark: float | None, why: str):
    verdict = parse(answer, read_role("rate-musicality"))
    assert verdict.marks == ({} if mark is None else {"musicality": mark}) and not verdict.opinions
    assert why in verdict.why if why else not verdict.why
    assert verdict_from_json(verdict.to_json()) == verdict


def test_the_eight_roles_are_there_and_their_forms_name_their_keys():
    roles = [read_role(name) for name in packaged()]
    assert len(roles) == 8
    for role in roles:
        assert all(key in role.form for key in role.schema.schema["required"])
    assert {role.scale for role in roles} == {(1, 5), (1, 10)}
