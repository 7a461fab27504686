#!/usr/bin/env python3
"""Servers that speak redis's protocol beside redis, under redis-benchmark: requests, processor time and latency, as ratios.

    beside_redis.py --rounds 7 --pipelines 1,16,64 --busy 1.5 gossamer='target/release/server 127.0.0.1:PORT'

Each server is started anew for each measurement, with PORT in its command replaced by a free one, and all of them, redis first,
take turns. `--busy` starts so many processes that take a processor each, a fraction for part of the time. Needs redis-server and
redis-benchmark. Only the ratios mean anything."""

import argparse
import csv
import glob
import os
import shlex
import socket
import statistics
import subprocess
import sys
import time

HOG = "import sys, time\nshare = float(sys.argv[1])\nwhile True:\n    end = time.perf_counter() + share / 100\n    " \
      "while time.perf_counter() < end: pass\n    time.sleep((1 - share) / 100)"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    sys.exit(f"nobody listens at port {port}")


def processor_time(pid):
    """Nanoseconds, of all threads that still run."""
    return sum(int(open(name).read().split()[0]) for name in glob.glob(f"/proc/{pid}/task/*/schedstat"))


def benchmark(port, pipeline, requests):
    command = f"redis-benchmark -p {port} -c 50 -d 32 -t get -r 10000 --csv -P {pipeline} -n {requests}"
    text = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(text.splitlines()))[-1]


def measure(command, pipeline, requests):
    """Requests a second, nanoseconds of processor time each, and the 99th percentile in milliseconds."""
    port = free_port()
    words = shlex.split(command.replace("PORT", str(port)))
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        benchmark(port, pipeline, requests // 5)
        before = processor_time(server.pid)
        row = benchmark(port, pipeline, requests)
        each = (processor_time(server.pid) - before) / requests
        return float(row["rps"]), each, float(row["p99_latency_ms"])
    finally:
        server.kill()
        server.wait()


def hogs(count):
    shares = [1.0] * int(count) + ([count % 1] if count % 1 else [])
    return [subprocess.Popen([sys.executable, "-c", HOG, str(share)]) for share in shares]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=300_000, help="at pipeline 1; more with longer ones")
    parser.add_argument("--pipelines", default="1,16,64")
    parser.add_argument("--busy", type=float, default=0, help="other processes that take a processor")
    parser.add_argument("servers", nargs="+", metavar="NAME=COMMAND")
    options = parser.parse_args()
    servers = {"redis": "redis-server --port PORT --save '' --appendonly no"}
    servers.update(server.split("=", 1) for server in options.servers)
    print(f"{os.cpu_count()} processors, {options.busy} other busy processes, medians of {options.rounds} rounds\n")
    print("| pipeline | server | requests/s | of redis's | CPU ns each | of redis's | p99 ms | of redis's |")
    print("|---" * 8 + "|")
    busy = hogs(options.busy)
    try:
        for pipeline in map(int, options.pipelines.split(",")):
            requests = options.requests * min(pipeline, 8)
            found = {name: [] for name in servers}
            for _ in range(options.rounds):
                for name, command in servers.items():
                    found[name].append(measure(command, pipeline, requests))
            medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
            for name, figures in medians.items():
                cells = [f"{figure:.4g} | {figure / of_redis:.2f}" for figure, of_redis in zip(figures, medians["redis"])]
                print(f"| {pipeline} | {name} | {' | '.join(cells)} |", flush=True)
    finally:
        for hog in busy:
            hog.kill()


main()
