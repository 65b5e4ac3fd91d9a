import torch
from stand_in import record

from .tokenizer import Tokenizer


class LLaMA_adapter:
    tokenizer = Tokenizer()

    def eval(self):
        return self

    def generate(
        self,
        inputs,
        prompts,
        max_gen_len=256,
        temperature=0.1,
        top_p=0.75,
        cache_size=10,
        cache_t=20,
        cache_weight=0.5,
    ):
        waveform, weight = inputs["Audio"]
        prompt = "".join(map(chr, prompts[0]))
        record("generate", prompt=prompt, shape=list(waveform.shape), weight=weight, cache_weight=cache_weight)
        return [f" The genre is number {torch.randint(1000, ()).item()} at {temperature}, {top_p}, {max_gen_len}. "]


def load(
    model_path,
    llama_dir,
    mert_path="m-a-p/MERT-v1-330M",
    device="cpu",
    knn=False,
    knn_dir="./ckpts",
    llama_type="7B",
    phase="finetune",
):
    record("load", model_path=model_path, llama_dir=llama_dir, mert_path=mert_path, knn=knn, knn_dir=knn_dir)
    return LLaMA_adapter()
