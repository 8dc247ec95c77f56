"""`make fuzz`: random specs and catalogue figures for a while; a plan or an error of ours, else what broke.

`python -m tests.fuzz [SECONDS] [MORE]`: first plain random choices, then MORE seconds of atheris, which looks for
inputs that reach new lines. Each input has 10 s and the process 1 GiB.
"""

from __future__ import annotations

import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

GIB = 2**30
LONGEST = 10  # seconds for one input


class Choices:
    """The choices that `inputs.Draw` wants, from `random`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def ConsumeIntInRange(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def ConsumeUnicodeNoSurrogates(self, count: int) -> str:
        some = (self._random.choice("abcz09-_.:/{}[],#&*!|>'\"%@` \n\té\u2028\U0001f600\x00") for _ in range(count))
        return "".join(some)[: self._random.randint(0, count)]


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer within {LONGEST} s")


def plain(seconds: float, seed: int) -> tuple[int, int]:
    """Random inputs for a while: how many, and how many of them were plans."""
    from tests.fuzz.inputs import answer, text_of

    signal.signal(signal.SIGALRM, _late)
    count = plans = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = text_of(Choices(seed + count))
        signal.alarm(LONGEST)
        try:
            plans += answer(text).endswith(" cards")
        except BaseException:
            print(f"input {seed + count} broke it:\n{text}", file=sys.stderr)
            raise
        finally:
            signal.alarm(0)
        count += 1
    return count, plans


def guided(seconds: int) -> int:
    """Inputs that atheris made within a time, guided by the lines that they reach; 0 when it is not installed."""
    program = Path(__file__).with_name("guided.py")
    limits = [f"-max_total_time={seconds}", f"-timeout={LONGEST}", "-rss_limit_mb=1024", "-max_len=512"]
    done = subprocess.run([sys.executable, str(program), *limits], capture_output=True, text=True, check=False)
    found = re.search(r"Done (\d+) runs", done.stderr + done.stdout)
    if done.returncode != 0 or found is None:
        raise SystemExit(f"atheris ended with {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
    return int(found.group(1))


def main(words: list[str]) -> int:
    """Runs both and prints what was tried."""
    seconds, more = (int(words[i]) if len(words) > i else default for i, default in ((0, 60), (1, 60)))
    resource.setrlimit(resource.RLIMIT_AS, (GIB, resource.RLIM_INFINITY))
    seed = random.SystemRandom().randrange(10**9)
    count, plans = plain(seconds, seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"random: {count} inputs from seed {seed}: {plans} plans, {count - plans} errors of ours; peak {peak:.0f} MiB"
    )
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if more:
        print(f"guided: {guided(more)} inputs by atheris: plans or errors of ours")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
