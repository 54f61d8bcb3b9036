"""Opens exported files as their readers do, and prints what was understood as JSON.

usage: open.py speedscope FILE SCHEMA | firefox FILE | csv FILE | parquet FILE
"""

import collections
import csv
import json
import sys


def speedscope(path, schema):
    """Time of each function by itself, checked against the format's schema."""
    import jsonschema

    with open(path) as file, open(schema) as rules:
        profile, rules = json.load(file), json.load(rules)
    jsonschema.validate(profile, rules)
    own = collections.Counter()
    frames = profile["shared"]["frames"]
    for thread in profile["profiles"]:
        assert len(thread["samples"]) == len(thread["weights"])
        assert abs(sum(thread["weights"]) - thread["endValue"]) < 1
        for stack, weight in zip(thread["samples"], thread["weights"]):
            own[frames[stack[-1]]["name"]] += weight
    return {"own_ns": own}


def column(table, name, rows):
    """A column of one of the profiler's tables: as long as the table, or absent."""
    values = table.get(name)
    assert values is None or len(values) == rows, f"column {name} has {len(values)} of {rows} rows"
    return values


def firefox(path):
    """Samples of each function by itself, with every index followed as the front end does."""
    with open(path) as file:
        profile = json.load(file)
    meta = profile["meta"]
    assert meta["preprocessedProfileVersion"] >= 50 and meta["symbolicated"] and meta["interval"] > 0
    categories = meta["categories"]
    own, total = collections.Counter(), collections.Counter()
    names, inlined = set(), 0
    assert profile["threads"]
    for thread in profile["threads"]:
        # Newer versions share the tables between threads.
        shared = profile.get("shared", {})
        table = lambda name: thread.get(name) or shared[name]
        strings = thread.get("stringArray") or shared["stringArray"]
        frames, functions, stacks = table("frameTable"), table("funcTable"), table("stackTable")
        samples = thread["samples"]
        function_rows, frame_rows, stack_rows = functions["length"], frames["length"], stacks["length"]
        function_names = column(functions, "name", function_rows)
        assert all(0 <= name < len(strings) for name in function_names)
        function_of = column(frames, "func", frame_rows)
        assert all(0 <= function < function_rows for function in function_of)
        category = column(frames, "category", frame_rows)
        assert all(one is None or 0 <= one < len(categories) for one in category)
        inlined += sum(1 for depth in column(frames, "inlineDepth", frame_rows) if depth)
        frame_of, prefix = column(stacks, "frame", stack_rows), column(stacks, "prefix", stack_rows)
        assert all(0 <= frame < frame_rows for frame in frame_of)
        # Callers stand before those whom they called.
        assert all(before is None or before < at for at, before in enumerate(prefix))
        rows = samples["length"]
        weights = column(samples, "weight", rows) or [1] * rows
        times = column(samples, "time", rows)
        deltas = column(samples, "timeDeltas", rows)
        assert (times is None) != (deltas is None)
        assert all(a <= b for a, b in zip(times, times[1:])) if times else all(d >= 0 for d in deltas)
        for stack, weight in zip(column(samples, "stack", rows), weights):
            if stack is None:
                continue
            name = lambda stack: strings[function_names[function_of[frame_of[stack]]]]
            own[name(stack)] += weight
            seen = set()
            while stack is not None:
                seen.add(name(stack))
                stack = prefix[stack]
            total.update({one: weight for one in seen})
        names.add(thread["name"])
    return {"own": own, "total": total, "threads": sorted(names), "inlined": inlined}


def as_csv(path):
    """Sums of the columns, as Python's reader sees them."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    places = [(row["module"], int(row["code_version"]), int(row["offset"])) for row in rows]
    assert len(set(places)) == len(places)
    sums = {name: sum(float(row[name] or 0) for row in rows) for name in ("samples", "cpu_ns", "cycles")}
    sums["executions"] = sum(int(row["executions"] or 0) for row in rows)
    of_function = sum(int(row["executions"] or 0) for row in rows if row["function"] == "cmp_div")
    return {"rows": len(rows), "cmp_div": of_function, **sums}


def parquet(path):
    """The same sums, as DuckDB sees them."""
    import duckdb

    of_function = "sum(executions) filter (function = 'cmp_div')"
    sums = "sum(samples), sum(cpu_ns), sum(cycles), sum(executions)"
    found = duckdb.sql(f"select count(*), {of_function}, {sums} from '{path}'").fetchone()
    names = ("rows", "cmp_div", "samples", "cpu_ns", "cycles", "executions")
    types = duckdb.sql(f"select typeof(executions), typeof(line), typeof(module) from '{path}'").fetchone()
    assert types == ("UBIGINT", "UINTEGER", "VARCHAR"), types
    return {name: (int if name in ("rows", "cmp_div", "executions") else float)(value)
            for name, value in zip(names, found)}


readers = {"speedscope": speedscope, "firefox": firefox, "csv": as_csv, "parquet": parquet}
print(json.dumps(readers[sys.argv[1]](*sys.argv[2:])))
