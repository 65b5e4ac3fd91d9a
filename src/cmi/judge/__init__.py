"""A judge hears two takes of a prompt and says which is better; here is how to ask it, and how far to trust it."""
