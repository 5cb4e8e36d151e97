"""In a real notebook: progress below the cell, results and figures that show themselves, errors that say what to do."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

RUN = """
import harness
results = harness.run(learners="pa,perceptron", data="digits", trials=2, out="results/mine")
"""


@pytest.fixture
def execute(tmp_path):
    """Runs cells in a fresh kernel and gives what each of them showed, by kind of content."""

    def run(*cells):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = NotebookClient(
            book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        )
        client.execute()
        return [[output.get("data", {}) for output in cell.outputs] for cell in book.cells]

    return run


def test_progress_is_one_line_that_changes_and_the_results_are_a_table(execute):
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


def test_silence_shows_nothing(execute):
    (shown,) = execute(RUN.replace("trials=2", "trials=1, progress=False"))
    assert shown == []


def test_a_learner_that_is_defined_in_the_notebook_is_refused_with_the_way_out(execute):
    mine = """
from sklearn.linear_model import Perceptron
class Mine(Perceptron):
    pass
"""
    with pytest.raises(CellExecutionError) as caught:
        execute(mine, "import harness\nharness.run(learners=[Mine()], data='digits', trials=1)")
    told = str(caught.value)
    assert "a fresh process cannot import Mine, which is defined in the notebook or script itself" in told
    assert "put it into a file, such as my_learners.py, and `from my_learners import Mine`" in told
