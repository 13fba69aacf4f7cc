"""Processes that share work: the results of the built-in map, and nothing left of them."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import pytest

import polars_microagg as mg
from polars_microagg.processes import crew as crews
from polars_microagg.processes import worker
from polars_microagg.processes.crew import Crew, crew, shared
from tests import jobs

LONG = float("inf")


@pytest.fixture(autouse=True)
def _allowed(monkeypatch):
    monkeypatch.setattr(worker, "OURS", (*worker.OURS, "tests"))


def gone(pid):
    """Whether a process has ended, and nobody has still to be told of it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z"


def soon(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def done(workers, function, items):
    with crew(workers):
        return list(shared(LONG)(function, items))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_jobs(workers):
    assert done(workers, jobs.slowly, range(7)) == list(range(7))


def test_the_work_is_done_elsewhere_and_by_as_many_as_were_asked_for():
    with crew(2):
        first = set(shared(LONG)(jobs.who, range(6)))
        again = set(shared(LONG)(jobs.who, range(6)))
    assert len(first) == 2
    assert os.getpid() not in first
    assert again == first
    assert all(map(gone, first))


def test_each_has_its_share_of_the_processors():
    shares = {done(count, jobs.threads, range(4))[0] for count in (2, 2 * crews.cores())}
    assert shares == {(str(max(1, crews.cores() // 2)),) * 2, ("1", "1")}


def test_little_work_starts_nothing():
    with crew(4):
        assert shared(1.9) is map
        assert shared(2.0) is not map
    assert shared(LONG) is map


def test_processes_that_run_take_work_that_would_not_start_them():
    with crew(2):
        list(shared(LONG)(jobs.squared, range(4)))
        assert shared(0.2) is not map
        assert shared(0.05) is map


def test_without_a_number_there_are_as_many_as_processors():
    assert Crew(None).most == crews.cores()


def test_one_job_is_done_here():
    assert done(2, jobs.who, range(1)) == [os.getpid()]


def test_what_is_of_the_caller_is_done_here():
    assert done(2, lambda _: os.getpid(), range(3)) == [os.getpid()] * 3


def test_a_job_that_cannot_be_sent_is_done_here_among_the_others():
    here = threading.Lock()
    assert done(2, callable, [1, here, len, here]) == [False, False, True, False]


def test_what_is_printed_is_no_answer():
    assert done(2, jobs.printing, range(3)) == [0, 1, 2]


def test_large_results_and_large_jobs_pass():
    sizes = [10_000_000, 3, 20_000_000]
    made = done(2, jobs.large, sizes)
    assert [len(each) for each in made] == sizes
    assert done(2, len, made) == sizes


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_error_is_that_of_the_first_job_that_fails(workers):
    with pytest.raises(mg.InvalidDataError, match="job 1"):
        done(workers, jobs.failing, range(4))
    assert done(2, jobs.squared, range(3)) == [0, 1, 4]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_progress_is_told_as_in_one_process(workers):
    told = []
    with mg.progress(lambda *each: told.append(each)):
        assert done(workers, jobs.telling, range(4)) == [0, 1, 2, 3]
    assert told == [(i, 3, str(number)) for number in range(4) for i in (1, 2, 3)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_the_callback_raises_ends_the_processes(error, monkeypatch):
    started = watched(monkeypatch)

    def stop(*_):
        raise error

    with pytest.raises(error), mg.progress(stop):
        done(2, jobs.telling, range(4))
    assert started
    assert all(gone(process.number) for process in started)


def watched(monkeypatch):
    started = []
    close = worker.Worker.close
    monkeypatch.setattr(worker.Worker, "close", lambda self: (started.append(self), close(self)))
    return started


def test_a_thread_that_comes_meanwhile_does_its_work_itself():
    with crew(2):
        list(shared(LONG)(jobs.squared, range(3)))
        pids = []
        thread = threading.Thread(target=lambda: pids.extend(done(2, jobs.who, range(2))))
        thread.start()
        thread.join()
    assert pids == [os.getpid()] * 2


def test_a_process_of_ours_starts_none(monkeypatch):
    monkeypatch.setattr(worker, "WORKING", threading.Event())
    worker.WORKING.set()
    assert done(2, jobs.who, range(2)) == [os.getpid()] * 2


@pytest.mark.parametrize("executable", ["", "/usr/bin/blender"])
def test_an_interpreter_that_cannot_be_started_again_does_the_work(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    assert done(2, jobs.who, range(2)) == [os.getpid()] * 2


def test_where_the_system_allows_no_process_this_one_does_the_work(monkeypatch):
    def refused(*_, **__):
        raise BlockingIOError

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert done(2, jobs.who, range(2)) == [os.getpid()] * 2
    assert not crews._one_at_a_time.locked()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_process_that_is_killed_is_one_sentence(when):
    told = (
        "A process that did part of the work was ended before it was done. Nothing was released. "
        "Give it more memory, or do all in one process, with workers=1."
    )

    def losing():
        results = shared(LONG)(jobs.who, iter(range(100)))
        pid = next(results)
        os.kill(pid, signal.SIGKILL)
        if when == "before":
            soon(lambda: gone(pid))
        return list(results)

    with pytest.raises(mg.WorkerError) as raised, crew(2):
        losing()
    assert str(raised.value) == told
    assert not crews._one_at_a_time.locked()


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from polars_microagg.processes import worker
from polars_microagg.processes.crew import Crew
from tests import jobs
worker.OURS += ("tests",)
print("ran", flush=True)
with Crew(2) as own:
    results = own.shared(1e9)(jobs.who, iter(range(10**6)))
    print(*{{next(results) for _ in range(12)}}, flush=True)
    list(own.shared(1e9)(jobs.waiting, range(2)))
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.deep)], ids=str
)
@pytest.mark.parametrize("turn", [0, *(pytest.param(i, marks=pytest.mark.deep) for i in (2, 4))])
def test_nothing_runs_on_when_the_caller_is_ended(number, turn, tmp_path):
    # A script without a guard: it is not run again by those that it starts.
    script = tmp_path / "script.py"
    root = str(Path(__file__).parents[2])
    script.write_text(textwrap.dedent(SCRIPT).format(root=root))
    pipe = subprocess.PIPE
    caller = subprocess.Popen([sys.executable, script], stdout=pipe, stderr=pipe, text=True)
    assert caller.stdout.readline() == "ran\n"
    pids = [int(pid) for pid in caller.stdout.readline().split()]
    assert pids
    time.sleep(0.02 * turn)
    caller.send_signal(number)
    rest, errors = caller.communicate(timeout=30)
    assert rest == ""
    assert caller.returncode == -number
    # One traceback at most, of the caller.
    assert errors.count("Traceback") == (number == signal.SIGINT)
    soon(lambda: all(map(gone, pids)))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other interrupts")
def test_an_interrupt_at_the_very_start_of_a_worker_is_not_heard(capfd):
    one = worker.Worker(1, SimpleQueue())
    os.kill(one.number, signal.SIGINT)
    # Without anything to do it ends by itself, and not of the signal.
    one._made.stdin.close()
    one.close()
    assert (one._made.returncode, capfd.readouterr().err) == (0, "")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")
def test_who_has_nobody_to_answer_ends_without_a_word():
    """The caller was killed, and the answer is written before the end of the jobs is seen."""
    read, write = os.pipe()
    command = [sys.executable, "-c", "from polars_microagg.processes import worker; worker.main()"]
    pipe = subprocess.PIPE
    made = subprocess.Popen(command, stdin=pipe, stdout=write, stderr=pipe)
    os.close(write)
    os.close(read)
    for what in (("use", len, False), ("job", 0, [1, 2])):
        worker._write(made.stdin, worker.packed(what))
    assert made.wait(30) == 0
    assert made.stderr.read() == b""
    made.stdin.close()
    made.stderr.close()
