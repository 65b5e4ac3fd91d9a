def format_prompt(instruction):
    return f"### Instruction:\n{instruction}\n\n### Response:"
