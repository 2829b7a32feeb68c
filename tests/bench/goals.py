# SPDX-License-Identifier: MIT
"""What is to be reached, and whether it is. A goal is a figure and its bound; nothing is judged that was not measured in
this very run."""

import cpus


def goal(what, value, bound, unit, at_least=False):
    """value None: it could not be measured here."""
    reached = None if value is None else value >= bound if at_least else value <= bound
    return {"goal": what, "value": value, "bound": bound, "unit": unit, "at-least": at_least, "reached": reached}


def from_limit(rows):
    """limit.sh judges its rows itself: medians against the bare program's in the same run."""
    for row in rows:
        if "goal" in row:
            value = row.get("value")
            if value is None:
                value = row["series"][0].get("median-ratio")
            yield {"goal": row["title"], "value": value, "bound": row["goal"], "unit": row.get("unit", "times the bare program"),
                   "at-least": False, "reached": row.get("reached")}


def times_less(section, theirs, ours, key, thread=None, statistic="min"):
    """How many times less one row takes than another; thread: of theirs only this one counts. By the quickest rounds of
    both: whatever else a machine does makes a round slower, and never quicker. The medians are shown beside it."""
    a, b = section.row(*theirs), section.row(*ours)
    if not a or not b:
        return None
    value = a[key][statistic]
    if thread:
        value = sum(figure[statistic] for name, figure in a["threads"].items() if name.startswith(thread))
    return value / max(b[key][statistic], 1)


def goal_times_less(what, bound, *rows, **more):
    """A goal by the quickest rounds that says what the medians are."""
    by_median = times_less(*rows, statistic="median", **more)
    unit = "times" if by_median is None else f"times (by medians {by_median:.1f})"
    return goal(what, times_less(*rows, **more), bound, unit, at_least=True)


def from_tree(section, qemu):
    for way in ("one qom-tree-get", "one qom-list-get of all paths"):
        for key, name in (("real", "wall time"), ("cpu", "CPU time of the server")):
            yield goal_times_less(f"the default machine's tree, {way}, {name}: less than {qemu.name}'s qom-list-get of all paths",
                                  100, section, ("one qom-list-get of all paths", qemu.name), (way, "qomfs"), key)


def main_loop_times_less(section, command, qemu, bound):
    """Our whole server's CPU time against that of QEMU's main loop alone."""
    return goal_times_less(f"{section.title.split(' (')[0]}: CPU time less than {qemu.name}'s main loop's", bound, section,
                           (command, qemu.name), (command, "qomfs"), "cpu", thread="qemu-system")


def from_cpus(section, qemu):
    yield main_loop_times_less(section, cpus.COMMAND, qemu, 200)
    calls = [row["calls"] for row in section.rows if row["name"] == "allocations" and row["server"] == "qomfs"]
    yield goal(f"{cpus.COMMAND}: allocations", calls[0] if calls else None, 10, "allocations")


def from_blocks(sections, qemu):
    for section, count in sections:
        if count == 500:
            yield main_loop_times_less(section, "query-blockstats", qemu, 35)


def from_loss(section):
    for row in section.rows:
        if row.get("goal"):
            entry = goal(f"I/O lost, {row['name']}", row["loss"], row["goal"], f"% (+- {row['noise']:.2f})")
            if abs(row["loss"] - row["goal"]) < 2 * row["noise"]:
                entry["reached"], entry["too-noisy"] = None, True
            yield entry


def verdict_of(entry):
    if entry.get("too-noisy"):
        return "the machine is too noisy to say"
    return {True: "reached", False: "MISSED", None: "not measured"}[entry["reached"]]


def lines(goals):
    yield "Goals"
    for entry in goals:
        value = "not measured" if entry["value"] is None else f"{entry['value']:.2f}"
        verdict = verdict_of(entry)
        bound = f"at {'least' if entry['at-least'] else 'most'} {entry['bound']:g}"
        yield f"  {entry['goal']:112s} {value:>10s} {entry['unit']}, {bound}: {verdict}"
    yield ""
