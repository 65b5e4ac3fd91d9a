from stand_in import record


class SongGenProcessor:
    def __init__(self, ckpt_path, device):
        pass

    def __call__(
        self,
        text,
        lyrics,
        refaudio_path=None,
        refaudio_type=None,
        ref_voice_path=None,
        start=0,
        separate=False,
        padding=True,
        return_tensors="pt",
    ):
        if text == "broken":
            raise RuntimeError("CUDA out of memory")
        record("processor", text=text, lyrics=lyrics, ref_voice_path=ref_voice_path, separate=separate)
        return {"input_ids": [1], "prompt_input_ids": [2]}
