from types import SimpleNamespace

from stand_in import record

from .generation.utils import GenerationMixin


class PreTrainedModel(GenerationMixin):
    config = SimpleNamespace()

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *model_args, **kwargs):
        record("from_pretrained", name=pretrained_model_name_or_path, **kwargs)
        return cls()
