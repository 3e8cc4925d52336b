#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/peers/report.py RESULTS FOLDER: the tables (in FOLDER/benchmarks.md) and charts (FOLDER/benchmarks/).

Every number is the median of the rounds; the spread is the least and the greatest of them.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

FLOORS = ("bare", "bare-set", "flock", "publish+script")
# measure: title, column that counts, its unit, whether less is better, the other columns, the floor
TABLES = {
    "1": ("Uncontended acquire and release, one thread", "p50_us", "us", True, [("p99_us", "p99, us")], "bare"),
    "2": ("64 threads or tasks on 64 locks, one process", "per_second", "pairs/s", False, [], "bare"),
    "3": ("One lock, 16 threads or tasks of one process", "per_second", "passes/s", False,
        [("fairness", "fairness")], "flock"),
    "4": ("One lock, 8 processes", "per_second", "passes/s", False,
        [("fairness", "fairness"), ("handoffs_per_second", "to another process, /s"), ("p50_us", "hand-off p50, us"),
         ("p99_us", "hand-off p99, us"), ("server_commands_per_pass", "server commands a pass")], "flock"),
    "4a": ("Two processes, one of which sleeps: from the release's call to the other's return", "p50_us", "us", True, [],
           "publish+script"),
    "5": ("Commands that clients send, and bytes that the server gets, a pair", "commands", "commands", True,
        [("bytes_in", "bytes")], "bare-set"),
    "5a": ("8 processes want one lock: commands that clients send for each time that it is got", "commands_8", "commands",
           True, [("commands_per_change_8", "for each change of process"), ("bytes_8", "bytes"),
                  ("commands_100", "with 100 processes"), ("commands_per_change_100", "for each change"),
                  ("bytes_100", "bytes")], None),
    "6": ("From the holder's kill -9 to the next owner, ttl 2 s, killed after 100 ms", "takeover_ms", "ms", True,
        [("late_ms", "after the lease's end, ms")], None),
    "8": ("From a process's start to its first lock", "p50_ms", "ms", True, [("max_ms", "max, ms")], "flock"),
}


def number(x):
    if x is None:
        return ""
    if 0 < x < 0.001:
        return "less than 0.001"
    if x >= 1000:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


def load(path):
    rows, head = {}, {}
    for line in open(path):
        row = json.loads(line)
        if "measure" not in row:
            head = row
            continue
        rows.setdefault(row["measure"], {}).setdefault(row["peer"], []).append(row)
    return head, rows


def median(rounds, column):
    values = [r[column] for r in rounds if r.get(column) is not None]
    return statistics.median(values) if values else None


def ratio(peers, peer, floor, column):
    """Within each round, since both have met the same of the machine; the median of them."""
    base = {r["round"]: r[column] for r in peers.get(floor, [])}
    parts = [r[column] / base[r["round"]] for r in peers[peer] if base.get(r["round"])]
    return number(statistics.median(parts)) if parts else ""


def table(measure, peers):
    title, column, unit, less, more, floor = TABLES[measure]
    out = [f"### {measure}. {title}", ""]
    heads = ["", f"{column.split('_')[0] + ', ' if column.startswith('p50') else ''}{unit}", "rounds",
             f"times `{floor}`" if floor else ""] + [head for _, head in more]
    out += ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for peer in order(measure, peers):
        values = [r[column] for r in peers[peer]]
        cells = [f"*{peer}*" if peer in FLOORS else f"**{peer}**" if peer.startswith("holdfast") else peer,
                 number(statistics.median(values)), f"{number(min(values))} to {number(max(values))}",
                 ratio(peers, peer, floor, column)]
        out.append("| " + " | ".join(cells + [number(median(peers[peer], c)) for c, _ in more]) + " |")
    return out + ["", f"![{title}]({'benchmarks/' + str(measure)}.svg)", ""]


def order(measure, peers):
    """Floors first, then the best first."""
    _, column, _, less, _, _ = TABLES[measure]
    return sorted(peers, key=lambda p: (p not in FLOORS, median(peers[p], column) * (1 if less else -1)))


def chart(measure, peers, folder):
    title, column, unit, _, _, _ = TABLES[measure]
    names = order(measure, peers)[::-1]
    lines = []
    for i, peer in enumerate(names):
        values = [max(r[column], 1e-3) for r in peers[peer]]
        kind = 1 if peer in FLOORS else 2 if peer.startswith("holdfast") else 0
        lines.append(f'{i} {statistics.median(values)} {min(values)} {max(values)} {kind}')
    ticks = ", ".join(f'"{peer}" {i}' for i, peer in enumerate(names))
    low = min(float(line.split()[3 - 1]) for line in lines)
    # Greys and colours that can be told apart on white and on black.
    script = f"""
set terminal svg size 760,{90 + 30 * len(names)} font "sans-serif,13"
set output "{folder}/{measure}.svg"
set title "{title} ({unit}, logarithmic)" textcolor rgb "#808080" noenhanced
set border 1 linecolor rgb "#808080"
set logscale x
set xrange [{low / 2}:*]
set yrange [-0.6:{len(names) - 0.4}]
set ytics ({ticks}) nomirror scale 0 textcolor rgb "#808080" noenhanced
set xtics nomirror textcolor rgb "#808080"
set grid xtics linecolor rgb "#808080" linewidth 0.3
unset key
colour(k) = k == 2 ? 0xd9730d : k == 1 ? 0x909090 : 0x3b82c4
$data << EOD
{chr(10).join(lines)}
EOD
plot $data using 2:1:({low / 2}):2:($1-0.3):($1+0.3):(colour($5)) with boxxyerror fillstyle solid linecolor rgb variable, \\
     "" using 2:1:3:4 with xerrorbars pointtype 0 linecolor rgb "#808080"
"""
    subprocess.run(["gnuplot"], input=script.encode(), check=True)
    tidy(f"{folder}/{measure}.svg")


# measure: title, what the x axis is, the columns that are curves: (column, unit)
CURVES = {
    "7": ("Locks that are held and renewed", "holds", [("client_percent", "client, % of a processor"),
                                                       ("server_percent", "server, %"), ("bytes_per_hold", "bytes a hold")]),
    "9a": ("An uncontended pair beside so many locks of others", "size", [("value", "p50, us")]),
    "9b": ("So many threads or tasks on one lock", "size", [("value", "passes/s")]),
    "9c": ("So many locks held and renewed", "holds", [("client_percent", "client, % of a processor"),
                                                       ("server_percent", "server, %"), ("bytes_per_hold", "bytes a hold")]),
}


def points(measure, rounds, column):
    """Sizes, and the median of the rounds of each."""
    key = CURVES[measure][1]
    sizes = sorted({r[key] for r in rounds if r[column] is not None})
    return [(n, statistics.median(r[column] for r in rounds if r[key] == n)) for n in sizes]


def curve_table(measure, peers):
    title, key, columns = CURVES[measure]
    sizes = sorted({r[key] for rounds in peers.values() for r in rounds})
    out = [f"### {measure}. {title}", "", "|  | " + " | ".join(f"{n:,}" for n in sizes) + " |",
           "| --- |" + " ---: |" * len(sizes)]
    for peer in sorted(peers, key=lambda p: (p not in FLOORS, not p.startswith("holdfast"), p)):
        for column, unit in columns:
            values = dict(points(measure, peers[peer], column))
            cells = [number(values.get(n)) for n in sizes]
            head = f"*{peer}*" if peer in FLOORS else f"**{peer}**" if peer.startswith("holdfast") else peer
            out.append(f"| {head}, {unit} | " + " | ".join(cells) + " |")
    return out + ["", f"![{title}](benchmarks/{measure}.svg)", ""]


COLOURS = ("0xd9730d", "0x3b82c4", "0x909090", "0x4f9d69", "0xa05fb0", "0xb0862d")


def curve_chart(measure, peers, folder):
    title, key, columns = CURVES[measure]
    names = sorted(peers, key=lambda p: (not p.startswith("holdfast"), p in FLOORS, p))
    column, unit = columns[0]
    blocks, plots = [], []
    for i, peer in enumerate(names):
        data = "\n".join(f"{n} {max(v, 1e-3)}" for n, v in points(measure, peers[peer], column))
        blocks.append(f"$d{i} << EOD\n{data}\nEOD")
        plots.append(f'$d{i} using 1:2 with linespoints linewidth 2 pointtype {i + 4} linecolor rgb {COLOURS[i % 6]} '
                     f'title "{peer}"')
    script = f"""
set terminal svg size 760,420 font "sans-serif,13"
set output "{folder}/{measure}.svg"
set title "{title} ({unit})" textcolor rgb "#808080" noenhanced
set border 3 linecolor rgb "#808080"
set logscale xy
set xtics nomirror textcolor rgb "#808080"
set ytics nomirror textcolor rgb "#808080"
set grid linecolor rgb "#808080" linewidth 0.3
set key outside right textcolor rgb "#808080" noenhanced
{chr(10).join(blocks)}
plot {", ".join(plots)}
"""
    subprocess.run(["gnuplot"], input=script.encode(), check=True)
    tidy(f"{folder}/{measure}.svg")


def tidy(path):
    text = "\n".join(line.rstrip() for line in open(path).read().splitlines()) + "\n"
    with open(path, "w") as f:
        f.write(text)


BEGIN, END = "<!-- results: written by bench/peers/report.py -->", "<!-- end of results -->"


def machine(head):
    on = head["on"]
    return [f"{on['processors']} processors ({on['processor']}), shared; {on['kernel']}; Redis {on['redis']}. "
            f"{head['rounds']} rounds. Load average at the start: {head['load']:.1f}.", "",
            f"Tools: {on['cc']}; {on['java']}; {on['go']}; {on['python']}; node {on['node']}; {on['rust']}.", ""]


def write(path, lines):
    """Between the marks of a page that is there, or as a page of its own."""
    text = "\n".join([BEGIN, ""] + lines + [END]) + "\n"
    if os.path.exists(path):
        page = open(path).read()
        if BEGIN in page and END in page:
            text = page[:page.index(BEGIN)] + text.rstrip("\n") + page[page.index(END) + len(END):]
    with open(path, "w") as f:
        f.write(text)


def main():
    head, rows = load(sys.argv[1])
    folder = f"{sys.argv[2]}/benchmarks"
    os.makedirs(folder, exist_ok=True)
    out = machine(head)
    for peer, reason in head["missing"].items():
        out += [f"Not measured: {peer}: {reason}", ""]
    for measure in sorted(rows):
        curves = measure in CURVES
        out += curve_table(measure, rows[measure]) if curves else table(measure, rows[measure])
        if shutil.which("gnuplot"):
            (curve_chart if curves else chart)(measure, rows[measure], folder)
    write(f"{sys.argv[2]}/benchmarks.md", out)
    print("\n".join(out))


main()
