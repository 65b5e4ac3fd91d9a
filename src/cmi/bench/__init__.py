"""CMI-Bench: do audio language models understand music? 14 MIR tasks over 20 data sets."""
