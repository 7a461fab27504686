#!/usr/bin/env python3
"""Kernels of bale on collections beside the same on lamellar, each on so many processes of this machine: seconds, and their ratio.

    cargo build --release -p examples -p gossamer-cli --bins
    cargo build --release --manifest-path benches/lamellar/Cargo.toml
    benches/scripts/beside_lamellar.py --rounds 7 --size 1000000

The two take turns. A process has a thread, and a processor, of its own. lamellar's talk over its backend for shared memory. Only the ratios
mean anything."""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys

KERNELS = ["histogram", "gather", "permutation", "transpose"]


def seconds(text):
    found = re.search(r"in ([0-9.]+) s$", text, re.MULTILINE)
    return float(found[1]) if found else sys.exit(f"no seconds in {text!r}")


def ours(options, kernel):
    command = [options.gossamer, "run", "--local", str(options.processes), "--", options.bale, kernel, str(options.size)]
    environment = os.environ | {"GOSSAMER_THREADS": "1", "GOSSAMER_PIN": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    return seconds(ended.stdout) if ended.returncode == 0 else sys.exit(ended.stderr)


def lamellars(options, kernel):
    job, processes = str(random.randrange(1, 1 << 30)), []
    for process in range(options.processes):
        environment = os.environ | {
            "LAMELLAR_BACKEND": "shmem", "LAMELLAR_THREADS": "1", "LAMELLAR_JOB_ID": job,
            "LAMELLAR_NUM_PES": str(options.processes), "LAMELLAR_PE_ID": str(process),
            "LAMELLAR_MEM_SIZE": str(1 << 30)}
        command = ["taskset", "-c", str(process % os.cpu_count()), options.lamellar, kernel, str(options.size)]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    texts = [process.communicate(timeout=600) for process in processes]
    failed = [errors for process, (_, errors) in zip(processes, texts) if process.returncode != 0]
    return sys.exit(failed[0]) if failed else seconds(texts[0][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--gossamer", default="target/release/gossamer")
    parser.add_argument("--bale", default="target/release/bale")
    parser.add_argument("--lamellar", default="benches/lamellar/target/release/lamellar-kernels")
    parser.add_argument("--only", nargs="*", default=KERNELS, choices=KERNELS)
    options = parser.parse_args()
    print(f"| {options.size} elements, {options.processes} processes | gossamer, s | lamellar, s | times as fast, least to most |")
    print("|---|---|---|---|")
    for kernel in options.only:
        pairs = [(ours(options, kernel), lamellars(options, kernel)) for _ in range(options.rounds + 1)][1:]
        ratios = [theirs / own for own, theirs in pairs]
        own, theirs = (statistics.median(column) for column in zip(*pairs))
        print(f"| {kernel} | {own:.4f} | {theirs:.4f} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |", flush=True)


if __name__ == "__main__":
    main()
