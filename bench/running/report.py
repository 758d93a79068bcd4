"""Tables of results, as text and for docs/performance.md."""
import os
import pathlib
import platform
import re
import subprocess

from running import benchmarks


def first_line(argv):
    try:
        out = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return out.splitlines()[0].strip() if out.strip() else ""


def compiler_of(bin_folder):
    """The compiler of the build directory."""
    try:
        cache = (bin_folder.parent / "CMakeCache.txt").read_text()
    except OSError:
        return "unknown"
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)
    kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", cache, re.MULTILINE)
    version = first_line([path[1], "--version"]) if path else "unknown"
    return f"{version}, {kind[1]}" if kind and kind[1] else version


def field_of(path, key):
    try:
        found = re.search(rf"^{key}\s*:\s*(.*)$", pathlib.Path(path).read_text(), re.MULTILINE)
    except OSError:
        return "unknown"
    return found[1] if found else "unknown"


def machine(bin_folder, baseline):
    """The machine and the versions of the measurement."""
    memory = field_of("/proc/meminfo", "MemTotal").split()
    gib = f"{int(memory[0]) / (1 << 20):.1f} GiB" if memory[0].isdigit() else "unknown"
    return {"cpu": field_of("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)), "memory": gib,
            "kernel": f"{platform.system()} {platform.release()}", "compiler": compiler_of(bin_folder),
            "load": round(os.getloadavg()[0], 2), "berth": first_line([str(bin_folder / "berth"), "version"]) or "unknown",
            "baseline": first_line([str(baseline), "--version"]) if baseline else "none"}


def machine_lines(about):
    return [f"{about['cpu']}, {about['cores']} cores, {about['memory']}, {about['kernel']}; load {about['load']}",
            f"compiler: {about['compiler']}", f"berth: {about['berth']}", f"baseline:  {about['baseline']}"]


def short(value, width=0):
    if value is None:
        text = ""
    elif isinstance(value, str):
        text = value
    elif value == 0 or abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    return text.rjust(width)


COLUMNS = (("value", 10), ("min..max", 21), ("unit", 12), ("cpu us", 9), ("p50 us", 9), ("p99 us", 9), ("p99.9", 9),
           ("max us", 9), ("unplaced", 8), ("wall s", 8), ("cpu s", 8), ("MiB", 7), ("ratio", 7), ("by cpu", 7))


def head(width):
    """`width` is the length of the longest name."""
    return "benchmark".ljust(width) + " ".join(title.rjust(width) for title, width in COLUMNS)


def row(label, side, unit, width):
    spread = "..".join(short(value) for value in side["spread"])
    cells = [side["value"], spread, unit, *(side.get(key) for key in
             ("cpuMicros", "p50Micros", "p99Micros", "p999Micros", "maxMicros", "unplaced", "wallSeconds", "cpuSeconds",
              "peakMiB")), side.get("ratio"), side.get("cpuRatio")]
    return label.ljust(width) + " ".join(short(cell, of_column) for cell, (_, of_column) in zip(cells, COLUMNS))


def table(result, width):
    """The lines of one benchmark: one row per side."""
    if result["unit"] == "exponent":
        lines = [f"{result['name']}: CPU us per decision, and the exponent of the power law through them"]
        for side in result["sides"]:
            points = "  ".join(f"{x:,}: {short(y)}" for x, y in side["points"])
            lines.append(f"  {side['label']:<30} ^{side['value']:<6} {points}")
        return lines
    sides = result["sides"]
    return [row(result["name"], sides[0], result["unit"], width)] + [row("  " + side["label"], side, "", width) for side in sides[1:]]


def markdown_table(titles, rows):
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles), *("| " + " | ".join(row) + " |" for row in rows)]


def side_of(result, label):
    return next((side for side in result["sides"] if side["label"] == label), {})


def decision_rows(results):
    for result in results:
        berth, sampling, everything = (side_of(result, label) for label in
                                       ("berth", benchmarks.SAMPLING, benchmarks.ALL_NODES))
        name = re.sub(r"^(decisions|preemption)/\d+/?", lambda m: "" if m[1] == "decisions" else "preemption/", result["name"])
        yield [f"`{name.rstrip('/')}`", *(short(berth.get(key)) for key in ("value", "cpuMicros", "p50Micros", "p99Micros")),
               *(text for side in (sampling, everything) for text in
                 (short(side.get("value")), short(side.get("cpuMicros")), short(side.get("ratio")), short(side.get("cpuRatio"))))]


def markdown(about, results):
    """The tables of docs/performance.md."""
    yield f"Measured by `bench/run` on: {about['cpu']}, {about['cores']} cores, {about['memory']}, {about['kernel']}; "
    yield f"{about['compiler']}; {about['berth']}; {about['baseline']}. Load before: {about['load']}."
    sizes = {}
    for result in results:
        if result["unit"] == "decisions/s":
            sizes.setdefault(result["nodes"], []).append(result)
    for nodes, of_size in sizes.items():
        yield ""
        yield from markdown_table(
            [f"{nodes:,} nodes", "decisions/s", "CPU µs", "p50 µs", "p99 µs", "kube-scheduler", "CPU µs", "faster", "less CPU",
             "all nodes", "CPU µs", "faster", "less CPU"], decision_rows(of_size))
    growths = [result for result in results if result["unit"] == "exponent"]
    for result in growths:
        yield ""
        titles = [f"`{result['name']}`", *(f"{x:,}" for x, _ in result["points"]), "exponent"]
        yield from markdown_table(titles, [[side["label"], *(short(y) for _, y in side["points"]), short(side["value"])]
                                           for side in result["sides"]])
    others = [result for result in results if result["unit"] not in ("decisions/s", "exponent")]
    if others:
        yield ""
        yield from markdown_table(["benchmark", "value", "unit", "min..max", "kube-scheduler", "ratio"], [
            [f"`{result['name']}`", short(result["value"]), result["unit"], "..".join(map(short, result["spread"])),
             short(result.get("baselineValue")), short(result.get("ratio"))] for result in others])
