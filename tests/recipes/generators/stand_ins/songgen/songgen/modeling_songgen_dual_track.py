from stand_in import make_noise

from .modeling_songgen_mixed import SongGenMixedForConditionalGeneration


class SongGenDualTrackForConditionalGeneration(SongGenMixedForConditionalGeneration):
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
        return make_noise(1, 20 * 16_000), make_noise(1, 19 * 16_000)
