# A node on each of two machines, both of which run this.
. ./common.sh
library=/usr/lib/x86_64-linux-gnu/libibverbs.so.1
for _ in $(seq 200); do cat common.sh; done >/tmp/text
./word_count -n all /tmp/text >/tmp/expected || fail "one process"
export GOSSAMER_NODES=10.9.0.1:7000,10.9.0.2:7000 GOSSAMER_NODE=$((${ADDRESS##*.} - 1)) GOSSAMER_TOKEN=$TOKEN
export GOSSAMER_THREADS=1 GOSSAMER_START_SECONDS=60

# Only node 0 has a result.
count() {
    ./word_count -n all /tmp/text >/tmp/found || fail "two nodes"
    [ $GOSSAMER_NODE = 1 ] || cmp /tmp/expected /tmp/found || fail "two nodes count something else"
}

echo "--- both have RDMA"
count
check_packets 20
check_receives

echo "--- the second one has none"
[ $GOSSAMER_NODE = 0 ] || mv $library /tmp
count
check_packets 0
[ "$found" = 0 ] || fail "there was RDMA"
[ $GOSSAMER_NODE = 0 ] || mv /tmp/libibverbs.so.1 $library

echo "--- the link is cut"
./rack_program repeat >/tmp/output0 2>/tmp/errors0 &
pids=$!
if [ $GOSSAMER_NODE = 0 ]; then
    begun() { [ "$(wc -l </tmp/output0)" -ge 3 ]; }
    await begun
    ip link set eth0 down
fi
await_nodes 75
check_packets 20
if [ $GOSSAMER_NODE = 0 ]; then
    grep -q "RDMA device rxe0: port down" /tmp/said || fail "the port is not told"
else
    # What is under way at this moment is repeated in vain; if nothing is, only silence tells.
    grep -q -e "retries exceeded" -e "it was silent for 10 s" /tmp/said || fail "the cause is not told"
fi
[ "$(grep -c 'ended on all nodes' /tmp/said)" -le 1 ] || fail "more than one report"
