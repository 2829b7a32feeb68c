# SPDX-License-Identifier: MIT
"""Time against disks, CPUs and properties, as SVG by gnuplot; its data stands in the script that is kept beside it."""

import shutil
import subprocess

from lab import LabError

HEAD = """set terminal svg size 900,600 font 'sans,13' background 'white'
set output '{svg}'
set title '{title}' noenhanced
set xlabel '{x}' noenhanced
set ylabel '{y}' noenhanced
set logscale xy
set format y '%g'
set key outside right top noenhanced
set grid
"""


def plot(folder, name, title, x, curves, y="milliseconds, median"):
    """curves: points (x, nanoseconds) by label; those with one point only are left out."""
    curves = {label: sorted(points) for label, points in curves.items() if len(points) > 1}
    if not curves:
        return
    svg, script = folder / f"{name}.svg", folder / f"{name}.gnuplot"
    text = HEAD.format(svg=svg, title=title, x=x, y=y)
    for number, points in enumerate(curves.values()):
        text += f"$data{number} << END\n" + "".join(f"{at} {ns / 1e6:.6f}\n" for at, ns in points) + "END\n"
    text += "plot " + ", \\\n     ".join(
        f"$data{number} using 1:2 with linespoints linewidth 2 title '{label}'" for number, label in enumerate(curves)) + "\n"
    script.write_text(text)
    if not shutil.which("gnuplot"):
        raise LabError("gnuplot is not installed: tests/install-packages.sh bench")
    subprocess.run(["gnuplot", str(script)], check=True, timeout=60)


def add(curves, label, at, row):
    if row and "real" in row:
        curves.setdefault(label, []).append((at, row["real"]["median"]))


def properties(folder, models):
    curves = {}
    for section, count, _ in models:
        for row in section.rows:
            add(curves, f"{row['server']}: {row['name']}", count, row)
    plot(folder, "properties", "Reading the whole tree, by its number of properties", "properties", curves)


def cpus(folder, points):
    curves = {}
    for count, row in points:
        add(curves, f"{row['server']}: {row['name']}", count, row)
    plot(folder, "cpus", "Reading the whole tree, by the number of CPUs", "CPUs", curves)


def disks(folder, sections):
    curves = {}
    for section, count in sections:
        for row in section.rows:
            add(curves, f"{row['server']}: {row['name']}", count, row)
    plot(folder, "disks", "Block statistics of all disks, by their number", "disks", curves)
