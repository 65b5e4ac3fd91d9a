from cmi.testing.chat_endpoint import FakeEndpoint as FakeEndpoint
from cmi.testing.chat_endpoint import fake_endpoint as fake_endpoint
from cmi.testing.chat_endpoint import sounds_of as sounds_of
from cmi.testing.music_service import FakeMusicService as FakeMusicService
from cmi.testing.music_service import fake_music_service as fake_music_service
from cmi.testing.probe_listener import answer_probe as answer_probe
from cmi.testing.rule_endpoint import judge_by_rule as judge_by_rule
from cmi.testing.simulated_judge import SimulatedJudge as SimulatedJudge
