"""Predictions by a script instead of a container, called as the task does: python main.py --path input.jsonl."""

import argparse
import sys

from cmi.cli import main as run_cmi


def main() -> None:
    parser = argparse.ArgumentParser(description="Predict each pair's preferred candidate by `cmi mirex predict`.")
    parser.add_argument("--path", required=True, help="the pairs, JSON or JSONL")
    parser.add_argument("--out", default="predictions.jsonl", help="the predictions (default: %(default)s)")
    parser.add_argument("--model", default="nano", help="any scorer of cmi's (default: %(default)s)")
    given = parser.parse_args()
    sys.argv = ["cmi", "mirex", "predict", given.path, "-o", given.out, "--model", given.model]
    run_cmi()


if __name__ == "__main__":
    main()
