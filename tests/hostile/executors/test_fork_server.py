"""The fork server: preloaded modules cannot damage it, and it is replaced when it dies."""

import os
import signal
import textwrap
import time
from pathlib import Path

import pytest

from internals import (
    KERNEL_LOGGER,
    LOADERS,
    TRIAL_MODULE,
    TRIALS,
    Job,
    LocalExecutor,
    Workplace,
    loading_executor,
    patch_internal,
    start_executor,
)
from job_runs import job, run
from messages import naming

WARM = textwrap.dedent(
    '''
    """A module with a parallel loop, compiled when it is first called, as a learner's may be."""

    import numba
    import numpy
    import scipy.sparse
    import sklearn.linear_model
    import sklearn.naive_bayes


    @numba.njit(parallel=True, cache=True)
    def add_up(values):
        total = 0.0
        for i in numba.prange(values.size):
            total += values[i]
        return total
    '''
)
PRELOADED = (TRIAL_MODULE, "numpy", "scipy.sparse", "sklearn.linear_model", "harness_prototype.pa", "warm")


def server_of(executor):
    """Return the process id of the executor's fork server."""
    *first, server = executor.server_pids()
    above = first[0] if first else os.getpid()
    children = Path(f"/proc/{above}/task/{above}/children").read_text().split()
    assert str(server) in children
    return server


@pytest.fixture(scope="module", params=[1, 2])
def warm(request, marked, folder):
    """Return an executor whose server has preloaded all modules of a run."""
    (folder / "warm.py").write_text(WARM)
    with LocalExecutor(Workplace({"": PRELOADED}, request.param, (str(folder),))) as executor:
        yield request.param, executor


def test_the_warm_server_has_one_thread_and_its_jobs_have_the_modules(warm, recwarn):
    _, executor = warm
    assert run(executor, "list_modules", names=PRELOADED).answer == list(PRELOADED)
    assert run(executor, "count_threads").answer == 1
    assert os.listdir(f"/proc/{server_of(executor)}/task") == [str(server_of(executor))]
    assert not recwarn.list


def test_jobs_use_the_allowed_number_of_threads(warm):
    threads, executor = warm
    for _ in range(2):  # the second process finds the server as the first one did
        end = run(executor, "count_pool_threads", threads=threads, timeout=120.0)
        assert end.status == "ok", end.output
        pools = end.answer["in_force"]
        assert {name.partition(":")[0] for name in pools} >= {"openblas", "openmp", "numba"}
        assert set(pools.values()) == {threads}
        assert end.answer["omp_variable"] == str(threads)
        assert end.answer["total"] == 100_000
        assert (end.answer["threads"] > 1) == (threads > 1)
    assert len(os.listdir(f"/proc/{server_of(executor)}/task")) == 1


def test_a_preload_that_starts_a_thread_is_named_and_skipped(marked, folder, nothing_left):
    (folder / "threaded.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
    )
    with LocalExecutor(
        Workplace(
            {"": ("json", "threaded", "csv")},
            path=(str(folder),),
        )
    ) as executor:
        with pytest.warns(UserWarning, match=naming("threaded")):
            end = run(executor, "list_modules", names=["csv", "threaded"])
        assert end.answer == ["csv"]
        assert len(os.listdir(f"/proc/{server_of(executor)}/task")) == 1


def test_a_preload_that_fails_to_import_is_ignored(marked, folder, nothing_left, recwarn):
    (folder / "broken.py").write_text("raise ImportError('no such luck')\n")
    (folder / "leaving.py").write_text("raise SystemExit(1)\n")
    with LocalExecutor(
        Workplace(
            {"": ("broken", "absent", "leaving", "csv")},
            path=(str(folder),),
        )
    ) as executor:
        assert run(executor, "list_modules", names=["csv"]).answer == ["csv"]
    assert not recwarn.list


@pytest.mark.parametrize(
    "text",
    ["import os\nos._exit(1)\n", "import ctypes\nctypes.string_at(0)\n", "raise KeyboardInterrupt\n"],
    ids=["exits", "crashes", "interrupts"],
)
def test_a_preload_that_ends_the_server_is_named_and_skipped(marked, folder, nothing_left, text):
    (folder / "deadly.py").write_text(text)
    with LocalExecutor(
        Workplace(
            {"": ("json", "deadly", "csv")},
            path=(str(folder),),
        )
    ) as executor:
        with pytest.warns(UserWarning, match=naming("deadly")):
            end = run(executor, "list_modules", names=["csv"])
        assert end.answer == ["csv"]


def test_output_of_a_preload_is_not_read_as_a_response(marked, folder, nothing_left, capfd):
    (folder / "talking.py").write_text("print('good morning')\n")
    with LocalExecutor(Workplace({"": ("talking",)}, path=(str(folder),))) as executor:
        assert run(executor, "answer", value=1).status == "ok"
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "good morning" in printed.err


@pytest.mark.parametrize(("does", "expected"), [("log.info('compiling f')", [True]), ("log.debug('found f')", [])])
def test_only_real_compilation_is_reported_and_once(marked, folder, nothing_left, does, expected):
    source = f"import logging\nlog = logging.getLogger('{KERNEL_LOGGER}')\n{does}\n{does}\n"
    (folder / "compiled.py").write_text(source)
    answers = []
    with LocalExecutor() as executor:
        executor.prepare(Workplace({"": ("compiled",)}, path=(str(folder),)), lambda: answers.append(True))
        assert run(executor, "answer", value=1).status == "ok"
    assert answers == expected


def test_a_preload_that_never_ends_is_named_and_skipped(marked, folder, nothing_left, monkeypatch):
    patch_internal(monkeypatch, "HOPELESS_SECONDS", 2)
    (folder / "endless.py").write_text("while True:\n    pass\n")
    with LocalExecutor(
        Workplace(
            {"": ("endless", "csv")},
            path=(str(folder),),
        )
    ) as executor:
        with pytest.warns(UserWarning, match=naming("endless", "2")):
            end = run(executor, "list_modules", names=["csv"])
        assert end.answer == ["csv"]


def test_a_killed_server_is_replaced(marked, folder, nothing_left):
    with LocalExecutor(Workplace({"": ("csv",)}, path=(str(folder),))) as executor:
        for _ in range(3):
            assert run(executor, "list_modules", names=["csv"]).answer == ["csv"]
            before = server_of(executor)
            os.kill(before, signal.SIGKILL)
            assert run(executor, "answer", value=1).status == "ok"
            assert server_of(executor) != before


def test_a_server_killed_during_jobs_loses_none_of_them(marked, folder, nothing_left):
    with LocalExecutor(Workplace(path=(str(folder),))) as executor:
        jobs = [job("sleep", seconds=seconds) for seconds in (0.1, 2.0, 0.1, 0.1)]
        statuses = []
        for _, end in executor.run(jobs, at_once=2):
            if not statuses:
                os.kill(server_of(executor), signal.SIGKILL)
                time.sleep(0.2)
            statuses.append(end.status)
    assert statuses == ["ok"] * 4


def test_an_executor_started_early_runs_jobs_once_its_workplace_is_known(marked, folder, nothing_left):
    with LocalExecutor(common=("csv",)) as executor:
        first = server_of(executor)
        executor.prepare(Workplace({"": ("json.tool",)}, path=(str(folder),)))
        assert run(executor, "list_modules", names=["csv", "json.tool"]).answer == ["csv", "json.tool"]
        assert executor.server_pids()[0] == first


def test_modules_requested_later_need_no_new_server(marked, folder, nothing_left):
    with LocalExecutor(common=("csv",)) as executor:
        first = server_of(executor)
        executor.prepare(Workplace(path=(str(folder),)))
        assert run(executor, "list_modules", names=["csv", "json.tool"]).answer == ["csv"]
        executor.prepare(Workplace({"": ("json.tool",)}, path=(str(folder),)))
        assert run(executor, "list_modules", names=["csv", "json.tool"]).answer == ["csv", "json.tool"]
        assert executor.server_pids()[0] == first


def test_another_number_of_threads_needs_a_new_server(marked, folder, nothing_left):
    with LocalExecutor(common=("csv",), threads=1) as executor:
        first = server_of(executor)
        executor.prepare(Workplace(threads=2, path=(str(folder),)))
        assert server_of(executor) != first
        assert run(executor, "read_variable", variable="OMP_NUM_THREADS").answer == "2"
        assert run(executor, "list_modules", names=["csv"]).answer == ["csv"]


def test_the_factory_returns_an_executor_that_waits_for_its_workplace(marked, folder, nothing_left):
    executor = start_executor(("csv",), threads=2)
    try:
        executor.prepare(Workplace(threads=2, path=(str(folder),)))
        assert run(executor, "list_modules", names=["csv"]).answer == ["csv"]
        assert run(executor, "read_variable", variable="OMP_NUM_THREADS").answer == "2"
    finally:
        executor.close()


def test_an_executor_for_loaders_has_the_plugins_and_is_closed(marked, folder):
    known = set(marked.alive())
    with loading_executor([folder]) as executor:
        assert run(executor, "list_modules", names=list(LOADERS)).answer == list(LOADERS)
    assert marked.left_behind(known) == {}
    with pytest.raises(KeyError), loading_executor([folder]):
        raise KeyError("whatever happens inside")
    assert marked.left_behind(known) == {}


def test_modules_of_every_trial_start_no_thread_and_are_preloaded(marked, folder, nothing_left, recwarn):
    with LocalExecutor(Workplace(path=(str(folder),)), common=TRIALS) as executor:
        assert run(executor, "list_modules", names=list(TRIALS)).answer == list(TRIALS)
        assert len(os.listdir(f"/proc/{server_of(executor)}/task")) == 1
    assert not recwarn.list


def test_groups_share_no_preloaded_modules(marked, folder, nothing_left):
    preload = {"one": ("colorsys",), "two": ("wave",)}
    with LocalExecutor(Workplace(preload, path=(str(folder),))) as executor:
        found = {}
        for group in ("one", "two", ""):
            job = Job("jobs:list_modules", {"names": ["colorsys", "wave"]}, group=group)
            ((_, end),) = executor.run([job])
            found[group] = end.answer
        assert found == {"one": ["colorsys"], "two": ["wave"], "": []}
        assert len(executor.server_pids()) == 3


def test_a_killed_group_server_is_forked_again(marked, folder, nothing_left):
    with LocalExecutor(Workplace({"one": ("csv",)}, path=(str(folder),))) as executor:
        for _ in range(3):
            job = Job("jobs:list_modules", {"names": ["csv"]}, group="one")
            ((_, end),) = executor.run([job])
            assert end.answer == ["csv"]
            first, group = executor.server_pids()
            os.kill(group, signal.SIGKILL)
        os.kill(first, signal.SIGKILL)
        ((_, end),) = executor.run([job])
        assert end.answer == ["csv"]
