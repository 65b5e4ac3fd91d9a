from types import SimpleNamespace

from stand_in import make_noise, record


class SongGenMixedForConditionalGeneration:
    config = SimpleNamespace(sampling_rate=16_000)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *model_args, **kwargs):
        record("from_pretrained", kind=cls.__name__, name=pretrained_model_name_or_path, **kwargs)
        return cls()

    def to(self, device):
        return self

    def generate(
        self,
        inputs=None,
        generation_config=None,
        logits_processor=None,
        stopping_criteria=None,
        synced_gpus=None,
        streamer=None,
        **kwargs,
    ):
        print("a bar of progress")
        record("generate", **kwargs)
        return make_noise(1, 20 * 16_000)
