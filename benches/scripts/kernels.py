#!/usr/bin/env python3
"""The kernels of bale on collections, beside the same on plain threads with atomics and on rayon, in one process, and beside the same on
lamellar, in several: millions of operations (updates, look-ups, numbers, elements of the matrix, questions for an edge) a second.

    cargo build --release -p examples -p gossamer-cli --bins
    cargo build --release -p benches --features rayon --bin kernels
    cargo build --release --manifest-path benches/lamellar/Cargo.toml
    benches/scripts/kernels.py --rounds 7 --size 1000000

They take turns. Each thread has a processor of its own, in a process each for lamellar and for what is beside it; lamellar's talk over its
backend for shared memory. A ratio is that of the rates within a round. Programs that were not built are left out. Only the ratios mean
anything."""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys

KERNELS = ["histogram", "gather", "permutation", "permute-matrix", "transpose", "triangles", "toposort"]


def run(command, **environment):
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=600)
    return ended.stdout if ended.returncode == 0 else sys.exit(f"{' '.join(command)}: {ended.stderr}")


def seconds(text):
    """Of the times but the first, in which memory is new; of the first, if it is alone."""
    found = [float(time) for time in re.findall(r"in ([0-9.]+) s$", text, re.MULTILINE)]
    return statistics.median(found[1:] or found) if found else sys.exit(f"no seconds in {text!r}")


def sizes(options):
    return [str(number) for number in (options.size, options.times, options.elements or options.size)]


def one_process(options, kernel):
    return seconds(run([options.bale, kernel, *sizes(options)], GOSSAMER_THREADS=str(options.threads), GOSSAMER_PIN="1"))


def processes(options, kernel):
    nodes = [options.gossamer, "run", "--local", str(options.threads), "--", options.bale, kernel, *sizes(options)]
    return seconds(run(nodes, GOSSAMER_THREADS="1", GOSSAMER_PIN="1"))


def threads(contender):
    def measured(options, kernel):
        size, *others = sizes(options)
        return seconds(run([options.kernels, contender, kernel, size, str(options.threads), *others]))

    return measured


def lamellar(options, kernel):
    job, processes = str(random.randrange(1, 1 << 30)), []
    for process in range(options.threads):
        environment = os.environ | {
            "LAMELLAR_BACKEND": "shmem", "LAMELLAR_THREADS": "1", "LAMELLAR_JOB_ID": job,
            "LAMELLAR_NUM_PES": str(options.threads), "LAMELLAR_PE_ID": str(process),
            "LAMELLAR_MEM_SIZE": str(1 << 30)}
        command = ["taskset", "-c", str(process % os.cpu_count()), options.lamellar, kernel, *sizes(options)]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    texts = [process.communicate(timeout=600) for process in processes]
    failed = [errors for process, (_, errors) in zip(processes, texts) if process.returncode != 0]
    return sys.exit(failed[0]) if failed else seconds(texts[0][0])


def median(figures):
    return f"{statistics.median(figures):.3g}"


def ratio(ours, theirs):
    ratios = [their / our for our, their in zip(ours, theirs)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=1, help="in the same process; the first time does not count if there are more")
    parser.add_argument("--elements", type=int, help="of the vector that is updated or looked up at random, SIZE times by each thread (default SIZE)")
    parser.add_argument("--threads", type=int, default=2, help="in one process, or as many processes of one each")
    parser.add_argument("--gossamer", default="target/release/gossamer")
    parser.add_argument("--bale", default="target/release/bale")
    parser.add_argument("--kernels", default="target/release/kernels")
    parser.add_argument("--lamellar", default="benches/lamellar/target/release/lamellar-kernels")
    parser.add_argument("--only", nargs="*", default=KERNELS, choices=KERNELS)
    options = parser.parse_args()
    contenders = {"a process": one_process, "processes": processes}
    if os.path.exists(options.kernels):
        contenders |= {"plain": threads("plain"), "rayon": threads("rayon")}
    else:
        sys.exit(f"{options.kernels} counts the operations: it has to be built")
    if os.path.exists(options.lamellar):
        contenders["lamellar"] = lamellar
    print(f"| {options.size} elements, {options.threads} threads, millions a second | a process | of plain threads | of rayon "
          f"| {options.threads} processes | of plain threads | of lamellar |")
    print("|---|---|---|---|---|---|---|")
    for kernel in options.only:
        figures = {name: [] for name in contenders}
        for _ in range(options.rounds):
            for name, contender in contenders.items():
                figures[name].append(contender(options, kernel))
        counted = run([options.kernels, "plain", kernel, str(options.size), str(options.threads)])
        operations = int(counted.split()[0])
        rate = {name: [operations / second / 1e6 for second in figures[name]] for name in figures}
        cells = [
            median(rate["a process"]), ratio(figures["a process"], figures["plain"]), ratio(figures["a process"], figures["rayon"]),
            median(rate["processes"]), ratio(figures["processes"], figures["plain"]),
            ratio(figures["processes"], figures["lamellar"]) if "lamellar" in figures else "",
        ]
        print(f"| {kernel} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
