# ruff: noqa: F401
from .generation.configuration_utils import GenerationConfig
from .modeling_utils import PreTrainedModel as LlamaForCausalLM
from .tokenization_utils_base import PreTrainedTokenizerBase as LlamaTokenizer
