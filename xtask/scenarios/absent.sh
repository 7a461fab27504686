# What the library says where something is missing.
. ./common.sh
export GOSSAMER_TEST_DEVICE=installed GOSSAMER_THREADS=1
listing=the_devices_of_this_machine_are_listed_or_it_is_told_in_one_line_why_not
using=a_read_lands_in_a_region_for_it

# Checks what a test says: the words, the test.
says() {
    words=$1
    ./gossamer-tests "$2" --show-output >/tmp/said 2>&1
    grep -F "$words" /tmp/said || { cat /tmp/said; fail "it does not say: $words"; }
}

# Checks what nodes say, which cannot start without RDMA, and do where it is not asked for.
nodes_say() {
    GOSSAMER_FABRIC=verbs start_nodes 2 sum
    await_nodes 2 2 >/dev/null
    grep -F "$1" /tmp/said || { cat /tmp/said; fail "nodes do not say: $1"; }
    GOSSAMER_FABRIC=auto start_nodes 2 sum
    await_nodes 0 0
    grep "2 processes" /tmp/output0 || fail "nodes without RDMA"
}

# As a user who may do less.
as_nobody() {
    su -s /bin/sh nobody -c "ulimit -l ${2:-64}; $1 --show-output" >/tmp/said 2>&1
}

echo "--- no permission"
chmod 600 /dev/infiniband/uverbs0
as_nobody "./gossamer-tests $using"
grep -F 'Forbidden { device: "rxe0" }' /tmp/said || { cat /tmp/said; fail "permission"; }
chmod 666 /dev/infiniband/uverbs0

echo "--- too little memory can be pinned"
as_nobody "./gossamer-tests writes_into_one_slot_land_in_order"
grep -F "ulimit -l" /tmp/said || { cat /tmp/said; fail "memory"; }
rm /tmp/said
su -s /bin/sh nobody -c '. ./common.sh; ulimit -l 512; GOSSAMER_FABRIC=verbs start_nodes 2 sum; await_nodes 2 2' ||
    fail "nodes of little memory"
grep -F "ulimit -l" /tmp/said || fail "memory"
rm /tmp/said /tmp/output? /tmp/errors?

echo "--- the port is down"
ip link set net0 down
await grep -q DOWN /sys/class/infiniband/rxe0/ports/1/state
says "rxe0:1 is down" $using
ip link set net0 up

echo "--- no device"
rdma link delete rxe0
says "no RDMA device" $listing
nodes_say "no RDMA device"

echo "--- no driver"
modprobe -r rdma_rxe rdma_ucm ib_uverbs
[ -e /sys/class/infiniband_verbs ] && fail "there is a driver"
says "no RDMA device" $listing

echo "--- no library"
rm /usr/lib/x86_64-linux-gnu/libibverbs.so.1
says "no library: libibverbs.so.1" $listing
nodes_say "libibverbs.so.1"
