"""The other tools of label_trees.py: the wrappers of `harness_peers`, each in the Python of its own environment."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, save_npz
from svm_speed import Parts

from harness.api.environments import build_environments
from harness.api.session import Session
from harness.progress import Silence

PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "omikuji": ("omikuji-parabel", {"n_trees": 1}),
    "PECOS": ("pecos-xr-linear", {}),
    "napkinXC": ("napkinxc-plt", {}),
}
"""By the name in the table: the learner, and what is not as the tool has it by default."""
CHILD = """
import json, sys, time
import numpy as np
from scipy.sparse import csr_array, load_npz
from harness.signature import import_target

folder, target, params, times, depth = sys.argv[1:]
X, Y, X_test = (csr_array(load_npz(f"{folder}/{name}.npz")) for name in ("X", "Y", "X_test"))
y = Y if Y.nnz != Y.shape[0] or (np.diff(Y.indptr) != 1).any() else Y.indices.astype(np.int64)
trainings, rankings = [], []
for _ in range(int(times)):
    learner = import_target(target)(**json.loads(params))
    staged = learner.stage(X, y)
    begun = time.process_time()
    learner.fit(X, y, staged=staged)
    trained = time.process_time()
    ranked = learner.rank(X_test, int(depth))
    rankings.append(time.process_time() - trained)
    trainings.append(trained - begun)
np.savez(f"{folder}/found.npz", ranked=ranked, train=min(trainings), rank=min(rankings))
"""


def measure_peer(parts: Parts, times: int, peer: str, depth: int) -> tuple[float, float, np.ndarray]:
    """Seconds of the fastest training and ranking, and the ranks; what the tool needs beforehand is not counted."""
    name, params = PEERS[peer]
    session = Session()
    python = build_environments([name], session, Silence())[name].python
    target = session.catalog.learner(name).spec.load
    with tempfile.TemporaryDirectory() as folder:
        for file, matrix in (("X", parts.X), ("Y", indicator(parts.y)), ("X_test", parts.X_test)):
            save_npz(Path(folder) / f"{file}.npz", csr_array(matrix).astype(np.float32))
        words = [str(python), "-c", CHILD, folder, str(target), json.dumps(params), str(times), str(depth)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # tools draw bars
        found = np.load(Path(folder) / "found.npz")
        return float(found["train"]), float(found["rank"]), found["ranked"]


def indicator(y: Any) -> csr_array:
    """Rows x classes, whatever y is."""
    return csr_array(y) if issparse(y) else csr_array((np.ones(y.size), (np.arange(y.size), y)))
