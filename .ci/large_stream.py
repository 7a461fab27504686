"""Numbers through 64 GiB of memory that neither process has: stream_sum, and the most memory that each took."""

import os
import re
import secrets
import socket
import subprocess
import sys

LENGTH = 64 << 30
# Two mappings of a ring of 16 MiB, and a program.
MOST = 48 << 20

program = sys.argv[1]
while True:
    # Below those that the kernel gives to connections: a reader that tries again could get it, and meet itself.
    port = 10_000 + secrets.randbelow(20_000)
    with socket.socket() as free:
        if free.connect_ex(("127.0.0.1", port)) != 0:
            break
address = "127.0.0.1:%d" % port
environment = dict(os.environ, GOSSAMER_STREAM_KEY=secrets.token_hex(32))


def start(*arguments):
    return subprocess.Popen([program, *arguments], env=environment, stdout=subprocess.PIPE, text=True)


def end(process):
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    return said, os.waitstatus_to_exitcode(status), used.ru_maxrss << 10


writer = start("w", address, str(LENGTH))
while True:
    reader = start("r", address)
    received = end(reader)
    if received[1] == 0:
        break
    # It does not listen yet.
    assert writer.poll() is None, "the writer has ended"
delivered = end(writer)
sums = [re.search(r"sum: (\d+)", said).group(1) for said, _, _ in (delivered, received)]
assert delivered[1] == 0 and sums[0] == sums[1], (delivered, received)
for what, most in ("writer", delivered[2]), ("reader", received[2]):
    assert most < MOST, f"the {what} took {most >> 20} MiB"
print(f"stream_sum: 64 GiB, {sums[0]}, in {delivered[2] >> 20} and {received[2] >> 20} MiB of memory")
