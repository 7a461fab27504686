# Functions of the scenarios.

# Counts that the devices keep of a name, added up.
hardware_counter() {
    cat /sys/class/infiniband/*/ports/1/hw_counters/"$1" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Fails if a write has found no receive: who writes has to know how many there are.
check_receives() {
    for counter in rcvd_rnr_err send_rnr_err retry_rnr_exceeded_err; do
        count=$(hardware_counter $counter)
        echo "$counter $count"
        [ "$count" = 0 ] || fail "writes found no receive"
    done
}

fail() {
    echo "FAILED: $*"
    exit 1
}
