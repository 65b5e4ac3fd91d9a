"""The page that a reward model carries on the hub."""

TEMPLATE = """---
{{ card_data }}
---

# {{ model_name | default("A CMI-RM reward model", true) }}

A reward model for music under compositional instruction: given a prompt (text, lyrics, reference audio, in any mix) and
a take, it gives two numbers, musicality and alignment. Higher is better. They compare takes and have no unit.

```python
from pathlib import Path

from cmi import Prompt, RewardModel, Take

model = RewardModel.from_pretrained("{{ repo_id | default("REPOSITORY", true) }}")
print(model.score(Take(Prompt("slow sad piano with rain"), Path("take.flac"))))
```

`model.safetensors` and `config.yaml` follow the layout of the published CMI-RM. It hears the first 120 s of a recording
at 24 kHz mono, in chunks of 30 s, and reads the first 512 tokens of text and of lyrics.

{{ figures | default("Data, training and figures: not stated by whoever made this model.", true) }}
"""
