import soundfile
from stand_in import record


class PengiWrapper:
    def __init__(self, config, use_cuda=False):
        record("PengiWrapper", config=config)

    def generate(
        self, audio_paths, text_prompts, add_texts, max_len, beam_size, temperature, stop_token, audio_resample=True
    ):
        record("generate", prompts=text_prompts, add_texts=add_texts, max_len=max_len, beam_size=beam_size)
        return [(["blues", "jazz", "rock"], [0.9, 0.8, 0.7])]

    def describe(self, audio_paths, max_len, beam_size, temperature, stop_token, audio_resample=True):
        record("describe", rate=soundfile.info(audio_paths[0]).samplerate, max_len=max_len, stop_token=stop_token)
        return ["a guitar is playing. this audio contains sound events: music."]
