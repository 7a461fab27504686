# Functions of the scenarios.

fail() {
    echo "FAILED: $*"
    exit 1
}

# Waits until a command succeeds, for 30 s at most.
await() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || fail "in vain: $*"
        usleep 100000
    done
}

# The counts that all devices keep of something, added up.
hardware_counter() {
    cat /sys/class/infiniband/*/ports/1/hw_counters/"$1" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Fails if a write has found no receive: who writes has to know how many there are.
check_receives() {
    for counter in rcvd_rnr_err send_rnr_err retry_rnr_exceeded_err; do
        count=$(hardware_counter $counter)
        echo "$counter $count"
        [ "$count" = 0 ] || fail "a write has found no receive"
    done
}

# Whether something listens at a port of TCP.
listens() {
    netstat -ltn | grep -q ":$1 "
}

# One of the programs of perftest between two ends in this machine: its device, its other arguments.
perftest() {
    program=$1
    shift
    timeout 60 "$program" "$@" >/tmp/server 2>&1 &
    await listens 18515
    timeout 60 "$program" "$@" "$ADDRESS" >/tmp/client 2>&1 || { cat /tmp/client; fail "$program"; }
    wait $! || { cat /tmp/server; fail "the server of $program"; }
    echo "$program $*:"
    grep -A 1 '#bytes' /tmp/client
}
