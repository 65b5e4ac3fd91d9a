from stand_in import record

from .genmodel import BaseGenModel


class MusicGen(BaseGenModel):
    @staticmethod
    def get_pretrained(name="facebook/musicgen-melody", device=None):
        record("get_pretrained", name=name)
        return MusicGen()

    def set_generation_params(
        self,
        use_sampling=True,
        top_k=250,
        top_p=0.0,
        temperature=1.0,
        duration=30.0,
        cfg_coef=3.0,
        cfg_coef_beta=None,
        two_step_cfg=False,
        extend_stride=18,
    ):
        self.duration = duration
        record("set_generation_params", cfg_coef_beta=cfg_coef_beta)

    def set_style_conditioner_params(self, eval_q=3, excerpt_length=3.0, ds_factor=None, encodec_n_q=None):
        record("set_style_conditioner_params", eval_q=eval_q, excerpt_length=excerpt_length)

    def generate_with_chroma(self, descriptions, melody_wavs, melody_sample_rate, progress=False, return_tokens=False):
        record("generate_with_chroma", shape=list(melody_wavs.shape), rate=melody_sample_rate)
        return self.generate(descriptions)
