# SPDX-License-Identifier: MIT
"""What was measured: rows in sections, figures of times, and how they are shown as text. The JSON is the same data."""

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))


def quantile(values, share):
    """Of values that need not be sorted; between two of them where it must be."""
    values = sorted(values)
    if not values:
        return None
    place = (len(values) - 1) * share
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def median(values):
    return quantile(values, 0.5)


def figure(values):
    """Minimum, median and spread (the middle half) of one series."""
    return {"rounds": len(values), "min": min(values), "median": median(values),
            "low": quantile(values, 0.25), "high": quantile(values, 0.75)}


def time_text(ns):
    if ns is None:
        return "-"
    for unit, name in UNITS:
        if abs(ns) >= unit:
            value = ns / unit
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {name}"
    return f"{ns / 1e3:.2f} us"


def way_row(way, threads_from=0.01):
    """A line of ways-bench as a row: real, user, sys, what is left (real - user - sys), the server's CPU by thread."""
    row = {"name": way["name"], "server": way["server"]}
    if way["lacks"] or not way["wall"]:
        row["lacks"] = True
        return row
    row["bytes"] = way["bytes"]
    row["real"] = figure(way["wall"])
    row["user"] = figure(way["user"])
    row["sys"] = figure(way["sys"])
    row["rest"] = figure([real - user - sys for real, user, sys in zip(way["wall"], way["user"], way["sys"])])
    row["cpu"] = figure(way["cpu"])
    row["threads"] = {}
    for name, values in way["threads"].items():
        values = values + [0] * (len(way["wall"]) - len(values))
        if median(values) > threads_from * max(row["cpu"]["median"], 1):
            row["threads"][name] = figure(values)
    return row


class Section:
    """One table: its rows, and beside it what it compares."""

    def __init__(self, title, compares, rows=(), reference=None, notes=()):
        self.title, self.compares, self.rows, self.notes = title, compares, list(rows), list(notes)
        self.reference = reference  # the name and server of the row that others are compared with

    def row(self, name, server):
        for row in self.rows:
            if row["name"] == name and row["server"] == server:
                return row if "real" in row else None
        return None

    def set_ratios(self):
        """Of real time and of the server's CPU time, against the reference."""
        base = self.reference and self.row(*self.reference)
        for row in self.rows if base else []:
            if "real" in row:
                row["ratio"] = row["real"]["median"] / base["real"]["median"]
                row["cpu-ratio"] = row["cpu"]["median"] / max(base["cpu"]["median"], 1)

    def data(self):
        self.set_ratios()
        return {"title": self.title, "compares": self.compares, "rows": self.rows, "notes": self.notes}

    def lines(self):
        self.set_ratios()
        yield self.title
        yield f"  ({self.compares})"
        if any("real" in row for row in self.rows):
            yield "  %-44s %6s %9s %9s %19s %9s %9s %9s %9s %8s %8s" % (
                "", "rounds", "real min", "median", "middle half", "user", "sys", "rest", "server", "real", "server")
            for row in self.rows:
                yield from way_lines(row)
        for row in self.rows:
            if "text" in row:
                yield "  " + row["text"]
        for note in self.notes:
            yield "  " + note
        yield ""


def ratio_text(ratio):
    return "" if ratio is None else f"{ratio:.4f}" if ratio < 0.1 else f"{ratio:.2f}"


def way_lines(row):
    label = f"{row['server']}: {row['name']}"
    if row.get("lacks"):
        yield f"  {label:44s}      -  has no such command"
        return
    if "real" not in row:
        return
    real = row["real"]
    yield "  %-44s %6d %9s %9s %19s %9s %9s %9s %9s %8s %8s" % (
        label, real["rounds"], time_text(real["min"]), time_text(real["median"]),
        f"{time_text(real['low'])}-{time_text(real['high'])}".replace(" ", ""), time_text(row["user"]["median"]),
        time_text(row["sys"]["median"]), time_text(row["rest"]["median"]), time_text(row["cpu"]["median"]),
        ratio_text(row.get("ratio")), ratio_text(row.get("cpu-ratio")))
    if len(row["threads"]) > 1 or any(name != "" for name in row["threads"]):
        parts = ", ".join(f"{name} {time_text(value['median'])}" for name, value in sorted(row["threads"].items()))
        yield f"  {'':44s}        server by thread: {parts}"
