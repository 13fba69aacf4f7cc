"""Jobs for processes to do in tests."""

import os
import sys
import time

from polars_microagg.errors import InvalidDataError
from polars_microagg.progress import ticker


def squared(number):
    return number * number


def slowly(number):
    time.sleep(0.05 * (number % 3))
    return number


def who(_):
    time.sleep(0.1)
    return os.getpid()


def threads(_):
    return os.environ["POLARS_MAX_THREADS"], os.environ["OMP_NUM_THREADS"]


def printing(number):
    sys.stdout.write("this is no answer\n")
    return number


def failing(number):
    time.sleep(0.1 if number == 1 else 0)
    if number:
        raise InvalidDataError(f"job {number}")
    return number


def telling(number):
    tick = ticker(str(number), 3)
    for done in (1, 2, 3):
        time.sleep(0.01 * (number % 2))
        tick(done)
    return number


def waiting(_):
    while True:
        time.sleep(1)


def large(number):
    return bytes(number)
