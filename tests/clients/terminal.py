"""A program in its own pseudo-terminal, and the keys that are typed there as by hand."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

# Queries that programs send to their terminal (ECMA-48, xterm), and our replies. Codex and pi wait for them.
ANSWERS = [(rb"\x1b\[6n", b"\x1b[1;1R"), (rb"\x1b\[0?c", b"\x1b[?62;22c"), (rb"\x1b\[\?u", b"\x1b[?0u"), (rb"\x1b\[5n", b"\x1b[0n"),
           (rb"\x1b\]10;\?(?:\x07|\x1b\\)", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"), (rb"\x1b\]11;\?(?:\x07|\x1b\\)", b"\x1b]11;rgb:0000/0000/0000\x1b\\")]
ROWS, COLUMNS = 50, 160


def missing():
    """Returns the reason why there can be no terminal, or nothing."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        return f"no pseudo-terminal: {error}"
    return None


class Terminal:
    """A program in a terminal; it runs until the terminal is closed."""

    def __init__(self, command, cwd, env):
        self.end, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        # The program leads a new session that this terminal controls, because programs open /dev/tty.
        self.program = subprocess.Popen(command, cwd=cwd, env={"TERM": "xterm-256color", "LANG": "C.UTF-8", **env}, stdin=inner, stdout=inner, stderr=inner,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(inner)
        self.shown = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            # The program leads its group, so the signal reaches all of its processes.
            os.killpg(self.program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.program.wait()
        os.close(self.end)

    def read(self, seconds):
        """Reads for at most this many seconds; returns True if the program showed something."""
        if not select.select([self.end], [], [], seconds)[0]:
            return False
        try:
            new = os.read(self.end, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # The program has ended.
            time.sleep(seconds)
            return False
        self.shown += new
        for question, answer in ANSWERS:
            for _ in re.findall(question, new):
                os.write(self.end, answer)
        return True

    def until(self, condition, limit):
        """Returns True if the condition became true within that many seconds."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end or self.program.poll() is not None:
                return condition()
            self.read(0.1)
        return True

    def settle(self, limit=30):
        """Waits until the program has shown something, and then nothing for a second and a half."""
        end = time.monotonic() + limit
        self.until(lambda: self.shown, limit)
        while time.monotonic() < end and self.read(1.5):
            pass

    def type(self, keys):
        """Types key by key. Programs take keys that arrive together for pasted text, in which Enter sends nothing."""
        for key in keys:
            os.write(self.end, key.encode())
            self.read(0.03)

    def screen(self):
        """Returns all text that was shown, without the sequences that move the cursor or change colours."""
        text = re.sub(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[\[?>=<0-9;]*[ -/]*[@-~]|\x1b[()][A-Z0-9]", b" ", self.shown)
        return re.sub(r"\s+", " ", text.decode(errors="replace"))
