"""Rounds of calls through nopanic's breaker, for the benchmark beside it.

Reads one line a round from standard input, `THREADS CALLS`; makes so many calls a thread, of which every third
fails, below the threshold; answers with the nanoseconds of the round and the process's resident kilobytes.
"""

import sys
import threading
import time

import nopanic


class Down(Exception):
    pass


def answer(n):
    if n % 3 == 0:
        raise Down
    return n


def resident_kb():
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4
    except OSError:
        return 0


def calls(breaker, count):
    call = breaker.call
    for n in range(count):
        try:
            call(answer, n)
        except Down:
            pass


def main():
    breaker = nopanic.CircuitBreaker()
    for line in sys.stdin:
        n_threads, count = map(int, line.split())
        threads = [threading.Thread(target=calls, args=(breaker, count)) for _ in range(n_threads)]
        begun = time.perf_counter_ns()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter_ns() - begun
        if str(breaker.state) != "closed":
            sys.exit(f"the breaker is {breaker.state}: it was to stay closed")
        print(took, resident_kb(), flush=True)


main()
