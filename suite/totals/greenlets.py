"""Greenlets that wait at several depths of recursion, all on one stack."""
from greenlet import getcurrent, greenlet


def work(n):
    return sum(i * i for i in range(n))


def down(depth, scheduler):
    if depth == 0:
        scheduler.switch()
        return 1
    # By way of C, so that there is a frame of the interpreter on the stack for each.
    return work(20) + max([depth], key=lambda n: down(n - 1, scheduler))


def task(depth):
    scheduler = getcurrent().parent
    return sum(work(50) + down(depth % 5, scheduler) for _ in range(60))


tasks = [greenlet(task) for _ in range(12)]
for depth, each in enumerate(tasks):
    each.switch(depth)
for _ in range(60):
    for each in tasks:
        each.switch()
assert all(each.dead for each in tasks)
