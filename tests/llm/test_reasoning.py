"""Reasoning is never taken for the answer, nor the answer for reasoning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.llm import separate_reasoning
from cmi.llm.message import UNFINISHED
from cmi.llm.reading import read_response

words = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), max_size=40).map(str.strip)


@given(words, words, words)
def test_blocks_are_taken_out_and_kept(before, thought, after):
    answer, reasoning = separate_reasoning(f"{before}<think>{thought}</think>{after}")
    assert answer == f"{before}{after}".strip()
    assert reasoning == thought


@given(words, words)
def test_reasoning_that_is_not_closed_is_not_an_answer(before, thought):
    assert separate_reasoning(f"{before}<THINK>{thought}") == (before, thought)


@given(words, words)
def test_a_closing_tag_alone_ends_reasoning_that_the_prompt_opened(thought, after):
    assert separate_reasoning(f"{thought}</think>{after}") == (after, thought)


@given(st.lists(st.one_of(words, st.sampled_from(["<think>", "</think>", "</Think>"])), max_size=12))
def test_no_tag_is_left_and_no_word_is_lost(parts):
    answer, reasoning = separate_reasoning("".join(parts))
    assert "think>" not in f"{answer} {reasoning}".lower()
    left = "".join(part for part in parts if not part.endswith(">"))
    assert sorted("".join((answer + reasoning).split())) == sorted("".join(left.split()))


@given(words)
def test_a_text_without_tags_is_untouched(text):
    assert separate_reasoning(f" {text}\n") == (f" {text}\n", "")


def test_a_mention_of_the_tag_within_reasoning_does_not_hide_the_answer():
    assert separate_reasoning("<think>I use <think> now.</think>C minor")[0] == "C minor"
    assert separate_reasoning("<think>a<think>b</think>c</think>C minor")[0] == "C minor"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_that_an_endpoint_keeps_apart_is_kept(name):
    body = f'{{"choices": [{{"message": {{"content": "C minor", "{name}": "It is sad."}}, "finish_reason": "stop"}}]}}'
    said = read_response(body.encode())
    assert (said.text, said.reasoning, said.why) == ("C minor", "It is sad.", "")


def test_an_answer_cut_off_while_thinking_says_so():
    body = b'{"choices": [{"message": {"content": "<think>Let me"}, "finish_reason": "length"}]}'
    said = read_response(body)
    assert (said.text, said.reasoning, said.why) == ("", "Let me", UNFINISHED)


def test_reasoning_in_a_stream():
    pieces = ["<thi", "nk>sad", "</think>", "C minor"]
    chunks = [f'data: {{"choices": [{{"delta": {{"content": "{piece}"}}}}]}}\n\n' for piece in pieces]
    end = 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    said = read_response("".join([*chunks, end]).encode())
    assert (said.text, said.reasoning) == ("C minor", "sad")
