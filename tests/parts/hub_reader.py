"""A process that reads Hub datasets on request, because the client reads its settings at import."""

import json
import sys

from harness.errors import DataError
from harness_files import hub


def describe(data):
    """Return the tested properties of a dataset as plain values."""
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
            print(json.dumps(answer if isinstance(answer, str) else describe(answer)), flush=True)
        except DataError as error:
            print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
