import torch


class PreTrainedTokenizerBase:
    """Its tokens are letters; decoded, a text begins with '  <s> ', as LLaMA's does in the models' own libraries."""

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *init_inputs, **kwargs):
        return cls()

    def __call__(
        self,
        text=None,
        text_pair=None,
        text_target=None,
        text_pair_target=None,
        add_special_tokens=True,
        padding=False,
        truncation=None,
        max_length=None,
        stride=0,
        is_split_into_words=False,
        pad_to_multiple_of=None,
        return_tensors=None,
        return_token_type_ids=None,
        return_attention_mask=None,
        return_overflowing_tokens=False,
        return_special_tokens_mask=False,
        return_offsets_mapping=False,
        return_length=False,
        verbose=True,
        **kwargs,
    ):
        assert return_tensors == "pt"
        return {"input_ids": torch.tensor([[ord(letter) for letter in text]])}

    def decode(self, token_ids, skip_special_tokens=False, clean_up_tokenization_spaces=None, **kwargs):
        return "  <s> " + "".join(map(chr, token_ids.tolist()))
