import json
from pathlib import Path


class Prompter:
    def __init__(self, template_name="", verbose=False):
        self.template = json.loads(Path("templates", f"{template_name}.json").read_text())

    def generate_prompt(self, instruction, input=None, label=None):
        layout = self.template["prompt_input" if input else "prompt_no_input"]
        return layout.format(instruction=instruction, input=input)
