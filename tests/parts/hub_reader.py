"""A process that reads data sets of the Hub as asked on standard input: the client takes its settings when imported."""

import json
import sys

from harness.errors import DataError
from harness_files import hub


def told(data):
    """What tests ask of a data set, in plain values."""
    return {
        "texts": None if data.texts is None else list(data.texts),
        "X": None if data.X is None else data.X.toarray().tolist(),
        "y": data.y.toarray().tolist() if hasattr(data.y, "toarray") else data.y.tolist(),
        "names": list(data.class_names),
        "splits": {name: [part.tolist() for part in parts] for name, parts in data.splits.items()},
        "found": data.found,
        "revision": data.revision,
    }


def main():
    for line in sys.stdin:
        function, params = json.loads(line)
        try:
            answer = getattr(hub, function)(**params)
            print(json.dumps(answer if isinstance(answer, str) else told(answer)), flush=True)
        except DataError as error:
            print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
