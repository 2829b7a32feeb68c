# SPDX-License-Identifier: MIT
"""Experiment 3: query-blockstats. What one query costs, and how much I/O goes on while somebody polls."""

import json
import os
from pathlib import Path

from lab import Qmp
from results import Section, median, quantile, time_text, way_row

COMMAND = "query-blockstats"
DISKS = (10, 100, 500, 2000)
MODEL_DISKS_MAX = 1000
POLLED_DISKS = 500
RATES = (2, 20, 100)
MEASURED_MIB = 64
DISKS_A_BUS = 250
CPU_OF_CLIENT = 1  # who reads from the measured disk
BATCHES_MAX = 2
NOISE_WANTED = 1  # percent, where no loss is expected

OF_2016 = ("in 2016, inside the function: 10 disks 19.4 -> 17.5 us, 500 disks 668 -> 557 us. Guest I/O lost, 500 disks polled "
           "every 0.5 s: 14.2 % -> 9.1 %, and 0.76 % with the measured disk on an iothread")


def drives(count):
    """SCSI disks that hold nothing, each on two nodes as the built-in VM's are: an entry of query-blockstats, and its parent."""
    options = []
    for number in range(count):
        bus, target = divmod(number, DISKS_A_BUS)
        if target == 0:
            options += ["-device", f"virtio-scsi-pci,id=scsi{bus}"]
        options += ["-blockdev", f"driver=raw,node-name=disk{number}-format,file.driver=null-co,file.read-zeroes=on,"
                                 f"file.node-name=disk{number}-storage",
                    "-device", f"scsi-hd,id=disk{number},drive=disk{number}-format,bus=scsi{bus}.0,scsi-id={target}"]
    return options


def model(count):
    return {"disks": [{"id": f"disk{number}", "size": "1G"} for number in range(count)], "nics": []}


def sizes(rows):
    for row in rows:
        if row["name"] == COMMAND:
            yield f"{row['server']} {row['bytes']} bytes"


def ours(lab, count):
    """The built-in VM with so many disks; beyond what its board has places for, a dump of its disks, several times over."""
    if count <= MODEL_DISKS_MAX:
        return lab.qomfs(model(count))
    server = lab.qomfs(model(MODEL_DISKS_MAX))
    root = json.loads(Path(server.path(".tree.json")).read_bytes())
    lab.end(server)
    root["blockstats"] = [root["blockstats"][number % MODEL_DISKS_MAX] for number in range(count)]
    return lab.qomfs(lab.file("dump", json.dumps(root, separators=(",", ":"))))


def measure_queries(lab, qemus, quick):
    """One query against the number of disks: a section each, and the number for the plot."""
    for count in DISKS[:3] if quick else DISKS:
        server = ours(lab, count)
        others = [lab.qemu(qemu, *drives(count)) for qemu in qemus if qemu.version >= (7, 0)]
        stats = server.path("blockstats", ".tree.json")
        bare = lab.bare_qmp(Path(stats).read_text(encoding="ascii"))
        ways = [each.way(COMMAND, "call", COMMAND) for each in [server, *others]]
        ways += [server.way("blockstats/.tree.json", "read", stats), bare.way("the same bytes as a reply", "call", "any")]
        rows = lab.measure("ways-bench", f"--seconds={4 if quick else 15}", "--rounds=300", *ways)
        lab.end(server, bare, *others)
        yield Section(
            f"Block statistics: {COMMAND}, {count} disks",
            ("ours are a dump, since the built-in VM's board has no places for so many, " if count > MODEL_DISKS_MAX else
             "ours are virtio disks of the built-in VM, ") + "QEMU's are SCSI disks; each stands on the same two nodes (raw on null-co). In QEMU the main loop answers; in ours it has no part: compare its CPU time with our whole server's",
            [way_row(row) for row in rows], (COMMAND, qemus[-1].name) if others else None,
            notes=[f"one reply: {', '.join(sizes(rows))}"] + ([OF_2016] if count in (10, 500) else [])), count


# ---- how much I/O is lost ----


def group(name, pid, rate, readers, *target):
    return ",".join([name, str(pid), str(rate), str(readers), *target])


def half_width(values):
    return (quantile(values, 0.75) - quantile(values, 0.25)) / 2


def loss_rows(groups, idle="idle"):
    """The loss of each group: each window against that of the same round with pollers that ask nothing, so that what is slow
    for a while is so for both; the median over the rounds, and how far it is to be trusted."""
    by_name = {entry["name"]: entry for entry in groups}
    for entry in groups:
        losses = [(1 - mine / max(theirs, 1)) * 100
                  for mine, theirs in zip(entry["per-second"], by_name[idle]["per-second"])]
        polls = entry["latencies"]
        yield {"name": entry["name"], "per-second": median(entry["per-second"]), "loss": median(losses),
               # The standard error of a median: 1.25 s / sqrt(n), with s from the middle half, which is 0.6745 s.
               "noise": 1.86 * half_width(losses) / len(losses) ** 0.5, "windows": len(losses),
               "longest": median(entry["longest"]), "cpu": median(entry["cpu"]), "polls": len(polls),
               "latency": median(polls) if polls else None}


def loss_text(server, row):
    text = (f"{server}: {row['name']:44s} {row['windows']:3d} windows {row['per-second']:10.0f} requests/s   lost "
            f"{row['loss']:6.2f} % +- {row['noise']:.2f}")
    if row["longest"]:
        text += f"   longest request {time_text(row['longest'])}"
    if row["latency"] and "idle" not in row["name"]:
        text += f"   a poll takes {time_text(row['latency'])}"
    if row.get("expected"):
        text += f"   expected {row['expected']:.1f} %"
    return text


def qemu_with_export(lab, qemu, iothread, disks, *options):
    """A QEMU with drives to be polled and an NBD export of a raw file to be read; its threads have their CPUs."""
    image = lab.new_path("raw")
    with open(image, "wb") as file:
        file.write(os.urandom(MEASURED_MIB << 20))
    where = lab.new_path("nbd")
    server = lab.qemu(qemu, "-object", "iothread,id=io0,poll-max-ns=0", *options, *drives(disks),
                      "-blockdev", f"driver=file,node-name=file0,filename={image}",
                      "-blockdev", "driver=raw,node-name=raw0,file=file0", monitors=2)
    with Qmp(server.socket) as qmp:
        qmp.call("nbd-server-start", addr={"type": "unix", "data": {"path": where}})
        export = {"type": "nbd", "id": "e0", "node-name": "raw0", "name": "e0"}
        if iothread:
            export |= {"iothread": "io0", "fixed-iothread": True}
        qmp.call("block-export-add", **export)
    server.pin(lambda name, first: cpu_of(first, name, iothread))
    return server, f"nbd,{where},e0"


def cpu_of(is_main_loop, thread, iothread):
    """What is measured has its CPU for itself: the main loop, or the iothread with the client that it serves."""
    if iothread:
        return 1 if "io0" in thread or "iothread0" in thread else 0
    return 0 if is_main_loop else 1


def windows_for(rate, quick):
    """How long a window is, so that several polls are in it, and how many a batch has."""
    length, rounds = {2: (1.5, 6), 20: (0.3, 20), 100: (0.2, 25)}[rate]
    return length, rounds // 3 if quick else rounds


def measure_loss(lab, io, idle, polled, rate, iothread, stretch_ns, quick):
    """The rows of some pollers. Batches are added until the loss that is expected is three times the noise."""
    length, rounds = windows_for(rate, quick)
    total = {}
    for _ in range(1 if quick else BATCHES_MAX):
        lines = lab.measure("loss-bench", f"--window={length}", f"--rounds={rounds}",
                            f"--poller-cpu={0 if iothread else 1}", io, idle, *polled, cpu=CPU_OF_CLIENT)
        for line in lines:
            have = total.setdefault(line["name"], {})
            for key, value in line.items():
                have[key] = value if key == "name" else have.get(key, []) + value
        rows = list(loss_rows(list(total.values())))
        expected = min(rate * stretch_ns / 1e7, 100)
        for row in rows:
            row |= {"rate": rate, "iothread": iothread, "expected": 0 if iothread else expected}
        if all(3 * row["noise"] <= (expected or NOISE_WANTED) for row in rows):
            break
    return [row for row in rows if row["name"] != "idle"]


def measure_qemu_loss(lab, qemu, stretch_ns, quick):
    """A QEMU, polled directly. stretch_ns: the time of its main loop that one poll takes."""
    section = Section(
        f"I/O lost while {POLLED_DISKS} disks are polled: {qemu.name}, by QMP",
        "reads of 4 KiB, one at a time, of an NBD export of a raw file in the page cache: no guest, but the same main loop or "
        "iothread that would serve one. Against windows with a poller that wakes up as often and asks nothing. The main loop "
        "has a CPU for itself, or the iothread and its client do; expected is the rate times the main loop's time for a poll")
    for iothread in (False, True):
        where = "an iothread" if iothread else "the main loop"
        server, io = qemu_with_export(lab, qemu, iothread, POLLED_DISKS)
        for rate in RATES:
            polled = [group(f"{where}: polled {rate} times a second", server.pid, rate, 1, "qmp", server.socket, COMMAND)]
            for row in measure_loss(lab, io, group("idle", server.pid, rate, 1, "idle"), polled, rate, iothread, stretch_ns,
                                    quick):
                section.rows.append({**row, "server": qemu.name, "text": loss_text(qemu.name, row)})
        lab.end(server)
    section.notes.append(OF_2016)
    return section


# What may be lost of a main-loop disk of the model, in percent, at 20 polls a second.
MODEL_GOAL, MODEL_GOAL_RATE = 1, 20


def model_under_load(lab, iothread):
    """The built-in VM with its disks, on one of which there is load; its threads have their CPUs."""
    vm = {**model(POLLED_DISKS), "iothreads": ["iothread0"]}
    vm["disks"][0] |= {"iothread": "iothread0"} if iothread else {}
    server = lab.qomfs(vm)
    with Qmp(server.socket) as qmp:
        qmp.call("object-add", **{"qom-type": "io-load", "id": "load0", "disk": "disk0", "pattern": "randread"})
    loop = "iothread0" if iothread else "vm"
    server.pin(lambda name, first: 0 if name == loop else 1)
    return server, f"counter,{server.path('qom', 'objects', 'load0', 'operations')}"


def measure_model_loss(lab, quick):
    """The built-in VM, polled by QMP and by file."""
    section = Section(
        f"I/O lost while {POLLED_DISKS} disks are polled: the built-in VM",
        "reads of 4 KiB, one at a time, which io-load makes of one of the disks: no guest, and no process that the data goes to. "
        "Like the others the disk holds nothing, so all that a request takes is time of the loop that serves it, and whatever "
        "takes the loop away from it shows. That loop has a CPU for itself, pollers and all other threads share the other one")
    for iothread in (False, True):
        where = "an iothread" if iothread else "the main loop"
        server, io = model_under_load(lab, iothread)
        for rate in RATES:
            polled = [
                group(f"{where}: QMP polled {rate} times a second", server.pid, rate, 1, "qmp", server.socket, COMMAND),
                group(f"{where}: the file read {rate} times a second", server.pid, rate, 1, "file",
                      server.path("blockstats", ".tree.json")),
            ]
            for row in measure_loss(lab, io, group("idle", server.pid, rate, 1, "idle"), polled, rate, False, 0, quick):
                row |= {"server": "qomfs", "iothread": iothread, "text": loss_text("qomfs", row)}
                if rate == MODEL_GOAL_RATE and not iothread:
                    row["goal"] = MODEL_GOAL
                section.rows.append(row)
        lab.end(server)
    section.notes.append(OF_2016)
    return section
