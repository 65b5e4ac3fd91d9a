"""What metrics of free text need: embedders, BERTScore, WordNet, and reading labels out of text."""
