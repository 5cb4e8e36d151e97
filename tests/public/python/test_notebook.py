"""In a real notebook: progress below the cell, results and figures displayed, errors with the next step."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from messages import assert_names

RUN = """
import harness
results = harness.run(learners="pa,perceptron", data="digits", trials=2, out="results/mine")
"""


@pytest.fixture
def execute(tmp_path):
    """Run cells in a fresh kernel and return the output of each, by content type."""

    def run(*cells):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = NotebookClient(
            book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        )
        client.execute()
        return [[output.get("data", {}) for output in cell.outputs] for cell in book.cells]

    return run


def test_progress_is_one_updated_line_and_results_are_a_table(execute):
    progress, shown, drawn = execute(RUN, "results", "results.plot('bar')")
    lines = [data["text/html"] for data in progress if "text/html" in data]
    assert sum("<progress" in line for line in lines) == 1
    assert any("4 of 4" in line for line in lines)
    (table,) = [data["text/html"] for data in shown]
    assert "<table" in table
    assert "perceptron" in table
    assert "results/mine" in table
    (figure,) = drawn
    assert {"image/png", "image/svg+xml"} & figure.keys()


def test_quiet_mode_shows_nothing(execute):
    (shown,) = execute(RUN.replace("trials=2", "trials=1, progress=False"))
    assert shown == []


def test_a_learner_defined_in_the_notebook_is_rejected_with_the_next_step(execute):
    mine = """
from sklearn.linear_model import Perceptron
class Mine(Perceptron):
    pass
"""
    with pytest.raises(CellExecutionError) as caught:
        execute(mine, "import harness\nharness.run(learners=[Mine()], data='digits', trials=1)")
    message = str(caught.value)
    assert_names(message, "Mine", "notebook")
    assert_names(message, "my_learners.py", "from my_learners import Mine")
