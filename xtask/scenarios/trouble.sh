# Nodes that are joined by RDMA, and come to trouble.
. ./common.sh
export GOSSAMER_FABRIC=verbs GOSSAMER_THREADS=1
begun() { [ "$(wc -l </tmp/output0)" -ge "$1" ]; }

echo "--- a node is killed"
start_nodes 3 sleep
await grep -q "3 nodes are up" /tmp/output0
kill -9 "$(node 1)"
await_nodes 75 137 75
check_reports 1
check_receives

echo "--- one of two devices"
ip link add net1 type dummy
ip address add 10.9.2.1/24 dev net1
ip link set net1 mtu 4200 up
rdma link add rxe1 type rxe netdev net1 || fail "a second device"
await grep -q ACTIVE /sys/class/infiniband/rxe1/ports/1/state
sent() { cat /sys/class/infiniband/"$1"/ports/1/hw_counters/sent_pkts; }
before=$(sent rxe0)
GOSSAMER_VERBS=rxe1:1 start_nodes 2 sum
await_nodes 0 0
[ "$(sent rxe0)" = "$before" ] || fail "the other device was used"
[ "$(sent rxe1)" -gt 100 ] || fail "the device was not used"
GOSSAMER_VERBS=rxe2 start_nodes 2 sum
await_nodes 2 2
grep -F "there is no RDMA port rxe2; there is rxe0:1, rxe1:1" /tmp/said || fail "which ports there are"
rdma link delete rxe1
check_receives

echo "--- the device is removed"
start_nodes 2 repeat
await begun 3
rdma link delete rxe0 &
removal=$!
sleep 1
kill -0 $removal || fail "the kernel does not wait for who has the device open"
# It tells nobody, and so they go on.
await begun $(($(wc -l </tmp/output0) + 3))
kill -9 "$(node 1)"
await_nodes 75 137
check_reports 1
wait $removal || fail "the device cannot be removed"
[ -e /sys/class/infiniband/rxe0 ] && fail "the device is still there"
rdma link add rxe0 type rxe netdev net0 || fail "the device cannot be added again"
await grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state

echo "--- the port goes down"
start_nodes 2 repeat
await begun 3
ip link set net0 down
await_nodes 75 75
grep -F "RDMA device rxe0: port down" /tmp/said || fail "the port is not told"
