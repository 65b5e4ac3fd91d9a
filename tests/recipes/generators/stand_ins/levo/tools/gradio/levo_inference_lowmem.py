import levo_inference


class LeVoInference(levo_inference.LeVoInference):
    def __init__(self, ckpt_path):
        super().__init__(f"{ckpt_path} in parts")

    def forward(
        self,
        lyric,
        description=None,
        prompt_audio_path=None,
        genre=None,
        auto_prompt_path=None,
        gen_type="mixed",
        params={},  # noqa: B006
    ):
        return super().forward(lyric, description, prompt_audio_path, gen_type=gen_type, params=params)
