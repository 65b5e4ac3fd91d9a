"""MERT (Li et al., 2023), a HuBERT for music, through transformers. CLaMP 3 and TuneJury use it.

Large models may have `deepnorm`, which multiplies residuals by (2 layers)^(1/4), and `attention_relax`, which prevents
overflow in half precision and does not change results.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from transformers import HubertConfig, HubertModel
from transformers.models.hubert.modeling_hubert import HubertEncoderLayer

from cmi._util.errors import InputError
from cmi.reward.scoring.baselines import sources

STATED = (
    "hidden_size num_hidden_layers num_attention_heads intermediate_size conv_dim conv_kernel conv_stride conv_bias "
    "num_conv_pos_embeddings num_conv_pos_embedding_groups feat_extract_norm feat_proj_layer_norm layer_norm_eps "
    "do_stable_layer_norm"
).split()


class DeepNormLayer(HubertEncoderLayer):  # type: ignore[misc]
    def __init__(self, config: HubertConfig) -> None:
        super().__init__(config)
        self.alpha = (2 * config.num_hidden_layers) ** 0.25

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None, **how: Any) -> Tensor:
        attended, _ = self.attention(hidden_states, attention_mask=attention_mask, **how)
        x = self.layer_norm(self.alpha * hidden_states + attended)
        return self.final_layer_norm(self.alpha * x + self.feed_forward(x))


def build_mert(state: sources.State, stated: Mapping[str, Any]) -> HubertModel:
    """The model of a checkpoint. InputError for one with parts that are not supported."""
    if stated.get("feature_extractor_cqt"):
        raise InputError("config.json states feature_extractor_cqt, which is not supported: expected MERT-v1")
    config = HubertConfig(**{field: stated[field] for field in STATED if field in stated})
    model = HubertModel(config)
    if stated.get("deepnorm"):
        if config.do_stable_layer_norm:
            raise InputError("config.json states deepnorm and do_stable_layer_norm, expected one of them at most")
        model.encoder.layers = nn.ModuleList(DeepNormLayer(config) for _ in range(config.num_hidden_layers))
    sources.fill(model, sources.with_weight_norm(state), r"masked_spec_embed$")
    return model
