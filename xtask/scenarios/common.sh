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

# One of the programs of perftest between two ends in this machine: its device, its other arguments. It may fail once, which says nothing
# of what is tested here.
perftest() {
    perftest_once "$@" || { echo "again:" && perftest_once "$@"; } || fail "$1"
}

perftest_once() {
    program=$1
    shift
    timeout 60 "$program" "$@" >/tmp/server 2>&1 &
    await listens 18515
    timeout 60 "$program" "$@" "$ADDRESS" >/tmp/client 2>&1
    statuses=$?
    wait $!
    statuses=$statuses,$?
    echo "$program $*:"
    [ $statuses = 0,0 ] || { echo "ended with $statuses" && cat /tmp/client /tmp/server && return 1; }
    grep -A 1 '#bytes' /tmp/client
}

# Fails unless so many packets were sent by RDMA since they were counted last.
check_packets() {
    found=$(($(hardware_counter sent_pkts) - ${packets:-0}))
    packets=$(hardware_counter sent_pkts)
    echo "$found packets by RDMA"
    [ "$found" -ge "$1" ] || fail "there should be $1 packets by RDMA, or more"
}

# Has programs where they were built, too.
as_built() {
    while read -r name path; do
        mkdir -p "$(dirname "$path")"
        ln -s "/job/$name" "$path"
    done <paths
}

# Starts so many nodes of rack_program, which do something. Their outputs are /tmp/output0 and so on, their reports /tmp/errors0.
start_nodes() {
    first_port=$((${first_port:-7000} + 10))
    GOSSAMER_NODES=127.0.0.1:$first_port pids=
    for node in $(seq $(($1 - 1))); do
        GOSSAMER_NODES=$GOSSAMER_NODES,127.0.0.1:$((first_port + node))
    done
    export GOSSAMER_NODES GOSSAMER_TOKEN=$TOKEN
    # A node in the background empties its files some time later; until then those of nodes before it would be read.
    rm -f /tmp/output? /tmp/errors?
    for node in $(seq 0 $(($1 - 1))); do
        GOSSAMER_NODE=$node ./rack_program "$2" >"/tmp/output$node" 2>"/tmp/errors$node" &
        pids="$pids $!"
    done
}

# What two parties have to know of each other, in tests.
TOKEN=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff

# The process of a node.
node() {
    echo "$pids" | awk -v node="$1" '{ print $(node + 1) }'
}

# Waits for all nodes, which are to end with these statuses, in their order. What they say is in /tmp/said then.
await_nodes() {
    since=$(date +%s)
    for pid in $pids; do
        wait "$pid"
        status=$?
        [ $status = "$1" ] || { cat /tmp/errors*; fail "a node has ended with $status, not with $1"; }
        shift
    done
    cat /tmp/errors* >/tmp/said
    echo "ended after $(($(date +%s) - since)) s, saying:"
    cat /tmp/said
}

# Fails unless the nodes have given so many reports of the end of all.
check_reports() {
    reports=$(grep -c 'ended on all nodes' /tmp/said)
    [ "$reports" = "$1" ] || fail "$reports reports, instead of $1"
}
