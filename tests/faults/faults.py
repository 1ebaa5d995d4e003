"""The faults, and the calls that they affect."""

import random
import re
import resource
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# Calls that change something. A kill between two other calls has the same result as a kill at
# the next of these.
WRITES = """write pwrite64 writev pwritev2 fsync fdatasync rename renameat renameat2 link linkat unlink
unlinkat mkdir mkdirat rmdir ftruncate fallocate copy_file_range sendfile splice fchmod fchmodat chmod
fchown chown utimensat symlink symlinkat""".split()
READS = """openat openat2 open read pread64 readv statx fstat newfstatat stat lstat lseek getdents64
readlink readlinkat access faccessat faccessat2 fcntl flock close dup getcwd ioctl""".split()
MEMORY = "mmap mremap".split()
THREADS = ["clone3", "clone"]
INTERRUPTIBLE = (
    "openat read pread64 write pwrite64 writev fsync fdatasync flock fcntl close "
    "rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat"
).split()
# A fault in these calls has side effects: a descriptor that strace does not let them close keeps
# its lock, and Linux does not interrupt an fcntl that does not wait.
NOTICED = ("close", "fcntl")
CALLS = {*WRITES, *READS, *MEMORY, *THREADS}


@dataclass(frozen=True)
class Fault:
    """A kind of fault, and the calls that it affects."""

    name: str
    inject: str
    calls: tuple
    when: str = "{n}"  # which of the calls with the same name fails
    early: bool = False  # whether the fault also affects the loader
    silent: bool = False  # whether the tool must work as if there were no fault


FAULTS = [
    Fault("kill", "signal=KILL", (*WRITES, "openat", "flock")),
    Fault("EIO", "error=EIO", (*WRITES, *READS)),
    # A descriptor that is never closed keeps its locks, which is not a fault of a disk.
    Fault("EIO-on", "error=EIO", tuple({*WRITES, *READS} - {"close"}), "{n}+"),
    Fault("ENOSPC", "error=ENOSPC", ("openat", *WRITES)),
    Fault("ENOSPC-on", "error=ENOSPC", ("openat", *WRITES), "{n}+"),
    Fault("EINTR", "error=EINTR", tuple(INTERRUPTIBLE), silent=True),
    Fault("EINTR-3", "error=EINTR", tuple(INTERRUPTIBLE), "{n}..{n2}", silent=True),
    Fault("EROFS", "error=EROFS", ("openat", *WRITES)),
    Fault("EROFS-on", "error=EROFS", tuple(WRITES), "{n}+"),
    Fault("EMFILE", "error=EMFILE", ("openat", "openat2", "fcntl", "dup")),
    Fault("ENOMEM", "error=ENOMEM", ("mmap", "mremap", "openat", "statx", "getdents64"), early=True),
    Fault("EAGAIN", "error=EAGAIN", tuple(THREADS)),
]
# The number of places with two faults in a row, the second of which kills.
PAIRS = 40
# The number of places in the middle of a write, and the number of bytes that are written at once.
TORN = 40
TORN_BYTES = "300"
# The limit of open files, and the number of bytes that are read or written at once.
FILES = range(4, 16)
SHORT = [("1", "0"), ("7", "0"), ("4096", "1"), ("1", "1")]


@dataclass(frozen=True)
class Point:
    """One fault at one place."""

    fault: str
    where: str
    around: tuple = ()
    env: tuple = ()
    files: int = 0
    early: bool = False  # whether the fault happens before the tool begins
    silent: bool = False  # whether the tool must work as if there were no fault

    def wrong(self, case):
        """Runs the tool with the fault; returns a description of what is wrong afterwards, or None."""
        case.bench.reseed()
        done = self.run(case.bench, case.command)
        return (self.silent and case.noticed(done)) or case.judge(done, self.early)

    def run(self, bench, command):
        limit = None
        if self.files:
            most = (self.files, self.files)
            limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, most)  # noqa: E731
        return bench.run(command, self.around, dict(self.env), limit)


def can_trace():
    try:
        traced = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True)
    except OSError:
        return False
    return traced.returncode == 0


@dataclass(frozen=True)
class Place:
    """A call of a run."""

    call: str
    number: int  # its number among the calls with the same name
    early: bool = False  # whether the loader makes the call, before the tool begins
    onto: str = field(default="", compare=False)  # the new name that the call gives to a file


def calls_of(bench, command, around=(), env=()):
    """Returns the calls of a run without a fault, in order. The calls of each process are counted separately."""
    trace = bench.tmp / "trace"
    bench.reseed()
    bench.run(command, ("strace", "-f", "-qq", "-o", str(trace), *around), dict(env))
    is_shell = command[0] == "sh"
    count, places, begun, first = {}, [], is_shell, None
    for line in trace.read_text(errors="replace").splitlines():
        found = re.match(r"(\d+)\s+(\w+)\(", line)
        if not found:
            continue
        process, name = found.groups()
        first = first or process
        # A number that counts the calls of another thread would also hit the loader.
        if process != first and not is_shell:
            continue
        count[process, name] = count.get((process, name), 0) + 1
        # The runtime checks at its start whether stdin, stdout and stderr are open.
        begun = begun or name == "poll"
        if name in CALLS:
            onto = re.search(r'([^/"]*)"[^"]*$', line)
            onto = onto.group(1) if onto else ""
            places.append(Place(name, count[process, name], early=not begun, onto=onto))
    return list(dict.fromkeys(places))


def traced(*injections):
    around = ["strace", "-f", "-qq", "-o", "/dev/null"]
    names = ",".join(name for name, _ in injections)
    around += ["-e", f"trace={names}"]
    for name, what in injections:
        around += ["-e", f"inject={name}:{what}"]
    return tuple(around)


def points(bench, command, library):
    """Returns all places of all faults, by fault."""
    places = calls_of(bench, command)
    for fault in FAULTS:
        found = []
        for place in places:
            if place.call in fault.calls and (fault.early or not place.early):
                when = fault.when.format(n=place.number, n2=place.number + 2)
                around = traced((place.call, f"{fault.inject}:when={when}"))
                where = f"{place.call} {when}"
                is_silent = fault.silent and place.call not in NOTICED
                found.append(Point(fault.name, where, around, early=place.early, silent=is_silent))
        yield fault.name, found
    yield "EIO, kill", pairs([(place.call, place.number) for place in places if not place.early])
    yield "open files", [Point("open files", str(most), files=most) for most in FILES]
    if library:
        yield "short", [
            Point(
                "short",
                f"{size} bytes" + (", interrupted" if interrupted == "1" else ""),
                env=(("LD_PRELOAD", library), ("SHORT_BYTES", size), ("SHORT_EINTR", interrupted)),
                silent=True,
            )
            for size, interrupted in SHORT
        ]
        yield "torn", torn(bench, command, library)


def torn(bench, command, library):
    """Returns points that kill the tool in the middle of a write, after a part of it is done."""
    env = (("LD_PRELOAD", library), ("SHORT_BYTES", TORN_BYTES), ("SHORT_EINTR", "0"))
    calls = calls_of(bench, command, env=env)
    writes = [place.number for place in calls if place.call == "write" and not place.early]
    if len(writes) > TORN:
        writes = sorted(random.Random(len(writes)).sample(writes, TORN))
    return [
        Point("torn", f"write {number}", traced(("write", f"signal=KILL:when={number}")), env=env)
        for number in writes
    ]


def pairs(places):
    """Returns points at which a call fails, and the tool is killed at a later call while it handles the failure."""
    choose = random.Random(len(places))
    first = [at for at, (name, _) in enumerate(places) if name in WRITES + READS]
    found = []
    for at in choose.sample(first, min(PAIRS, len(first))):
        name, number = places[at]
        later = [(other, n) for other, n in places[at + 1 :] if other in WRITES and other != name]
        if later:
            other, n = later[min(choose.randrange(6), len(later) - 1)]
            failing, killing = f"error=EIO:when={number}", f"signal=KILL:when={n}"
            around = traced((name, failing), (other, killing))
            found.append(Point("EIO, kill", f"{name} {number}, {other} {n}", around))
    return found


def build_library(tmp):
    """Builds the library that makes reads and writes short; returns None if there is no C compiler."""
    source = Path(__file__).with_name("short_io.c")
    compiler = shutil.which("cc")
    if not compiler:
        return None
    library = Path(tmp) / "short_io.so"
    flags = ["-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    built = subprocess.run([compiler, *flags], capture_output=True, check=False)
    return str(library) if built.returncode == 0 else None
