"""From takes to tokens: windows of audio, read-ahead, batches, and the token cache."""
