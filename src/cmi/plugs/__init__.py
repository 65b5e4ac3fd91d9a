"""Integrations: benchmarks, results and data in the formats of other tools.

inspect_task    CMI-Bench as a task of Inspect, and its logs from answers that are on disk
lmms_tasks      CMI-Bench as task files of lmms-eval
asked           the questions that both ask, and how both score the answers
hub_results     scores as the hub's .eval_results and as the model-index of a model card
datasets_io     pairs, preferences, ratings and takes as Hugging Face `datasets`, and back

mirdata is read by `cmi.bench.data.mirdata`; TensorBoard, Weights & Biases and trackio are written by
`cmi.report.metric_writers`.
"""
