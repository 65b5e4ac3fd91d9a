"""The tutorial's simulated judge answers what `cmi judge label` asks before the first pair."""

from functools import partial
from pathlib import Path

import endpoint

from cmi.judge.prompt_file import DEFAULT, read_role
from cmi.llm import Chat, Endpoint
from cmi.llm.hearing import probe_hearing
from cmi.testing.chat_endpoint import fake_endpoint


def test_the_probe_of_hearing_is_answered(tmp_path: Path):
    answer = partial(endpoint.judge, known={}, role=read_role(DEFAULT), right=1.0, first=0.0)
    with fake_endpoint(answer) as server, Chat(Endpoint(server.url, "simulated"), tmp_path) as chat:
        hearing = probe_hearing(chat)
    assert hearing.seconds == 45 and not hearing.is_cut
