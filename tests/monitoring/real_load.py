"""Load of this machine, produced by processes: memory, network, disk.

    real_load.py memory BYTES | network DEVICE BYTES_PER_SECOND | disk FILE

Runs until it is killed. Each kind has a function that prepares it and returns the command of the process and a threshold
in percent, which lies between the load without the process and the load with it."""

import mmap
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

FRAME = 60000
# Not among the names that LoadAware excludes as virtual interfaces.
SENDER, RECEIVER = f"berth{os.getpid()}a", f"berth{os.getpid()}b"
# Bytes per second: node_network_speed_bytes of a veth interface.
LINK = 1.25e9
VIRTUAL_DISKS = re.compile(r"(loop|ram|zram|sr|dm-|md|fd)")  # as LoadAware excludes them

_files = []


class Impossible(Exception):
    """This machine cannot produce the load, for the reason in the message."""


def own_command(*arguments):
    return [sys.executable, str(pathlib.Path(__file__).resolve()), *map(str, arguments)]


def percent_of_time(share, seconds=2):
    """The highest share by device of a counter of milliseconds: share() is {device: milliseconds}."""
    before, began = share(), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - began
    return max((100 * (now - before.get(name, now)) / 1000 / passed for name, now in share().items()), default=0)


def clean_up():
    """Removes what the preparations have created."""
    if shutil.which("ip"):
        subprocess.run(["ip", "link", "del", SENDER], capture_output=True)
    for path in _files:
        path.unlink(missing_ok=True)


# --- memory ---

def memory(_):
    """As much as possible, because other processes use memory, too, and not always the same amount."""
    values = {name: int(kib) * 1024 for name, kib in
              re.findall(r"^(\w+):\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)}
    total, available = values["MemTotal"], values["MemAvailable"]
    limit = pathlib.Path("/sys/fs/cgroup/memory.max")  # of a container
    within = limit.read_text().strip() if limit.exists() else "max"
    amount = min(total * 30 // 100, available // 2, available if within == "max" else int(within) // 2)
    share = 100 * amount / total
    if share < 10:
        raise Impossible(f"a process can use only {amount >> 20} MiB of {total >> 20} MiB")
    return own_command("memory", amount), 100 * (1 - available / total) + share / 2


def use_memory(amount):
    pages = mmap.mmap(-1, amount)
    for page in range(0, amount, mmap.PAGESIZE):
        pages[page] = 1
    while True:
        time.sleep(3600)


# --- network ---

def network(_):
    """A pair of interfaces whose ends are both here: raw frames need no addresses, routes or namespaces."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise Impossible("a pair of interfaces needs root and iproute2")
    for command in (f"ip link add {SENDER} mtu 65535 type veth peer name {RECEIVER} mtu 65535",
                    f"ip link set {SENDER} up", f"ip link set {RECEIVER} up"):
        made = subprocess.run(command.split(), capture_output=True, text=True)
        if made.returncode != 0:
            raise Impossible(f"{command}: {made.stderr.strip()}")
    speed = pathlib.Path(f"/sys/class/net/{RECEIVER}/speed").read_text().strip()
    if int(speed) != LINK * 8 / 1e6:
        raise Impossible(f"a veth interface reports the speed {speed}")
    return own_command("network", SENDER, LINK * 0.16), 6


def use_network(device, rate):
    # A protocol number for experiments: the interfaces count the frames, and the kernel drops them.
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((device, 0))
    frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!H", 0x88B5) + bytes(FRAME - 14)
    began, sent = time.monotonic(), 0
    while True:
        while sent < (time.monotonic() - began) * rate:
            sender.send(frame)
            sent += FRAME
        time.sleep(0.005)


# --- disk ---

def milliseconds_of_disks():
    """As node exporter reads them, without partitions, which are never busier than their disks."""
    rows = [line.split() for line in pathlib.Path("/proc/diskstats").read_text().splitlines()]
    return {row[2]: int(row[12]) for row in rows if not VIRTUAL_DISKS.match(row[2])}


def disk(directory):
    """Tries a process in each directory that may be on a disk."""
    idle = percent_of_time(milliseconds_of_disks)
    busiest, devices = 0, set()
    for folder in (directory, pathlib.Path("/var/tmp"), pathlib.Path(__file__).parent):
        if not os.access(folder, os.W_OK) or folder.stat().st_dev in devices:
            continue
        devices.add(folder.stat().st_dev)
        _files.append(folder / f"real-load-{os.getpid()}")
        command = own_command("disk", _files[-1])
        with subprocess.Popen(command) as process:
            busy = percent_of_time(milliseconds_of_disks)
            process.kill()
        if busy - idle >= 20:
            return command, (idle + busy) / 2
        busiest = max(busiest, busy)
    raise Impossible(f"the busiest disk is {idle:.0f} % busy, and {busiest:.0f} % with a process that writes")


def use_disk(path):
    size = 16 << 20
    block = mmap.mmap(-1, size)  # aligned, as direct writes need it
    try:
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600)
    except OSError:  # not every file system has direct writes
        file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)

    def write(offset):
        while True:
            os.pwrite(file, block, offset)
            os.fsync(file)
    # While one waits for the file system, the others keep the disk busy.
    for number in range(4):
        threading.Thread(target=write, args=(number * size,)).start()


# By the name of LoadAware's signal; each is given a directory for its files.
KINDS = {"memory": memory, "network-receive": network, "disk": disk}

if __name__ == "__main__":
    kind, arguments = sys.argv[1], sys.argv[2:]
    if kind == "memory":
        use_memory(int(arguments[0]))
    elif kind == "network":
        use_network(arguments[0], float(arguments[1]))
    else:
        use_disk(arguments[0])
