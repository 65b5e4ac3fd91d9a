"""From takes to tokens: which parts are heard, which share a batch, and what is cached."""
