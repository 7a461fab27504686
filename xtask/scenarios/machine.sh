# What the machine can do.
. ./common.sh

perftest ib_write_lat -d rxe0 -s 64 -n 200
perftest ib_send_lat -d rxe0 -s 64 -n 200
perftest ib_write_bw -d rxe0 -s 65536 -n 50
perftest ib_read_bw -d rxe0 -s 65536 -n 50

# Two more devices, at the ends of a cable.
ip link add end0 type veth peer name end1
for end in 0 1; do
    ip address add 10.9.1.$((end + 1))/24 dev end$end
    ip link set end$end up
    rdma link add cable$end type rxe netdev end$end || fail "a device at end$end"
done
await grep -q ACTIVE /sys/class/infiniband/cable0/ports/1/state
[ "$(ibv_devices | grep -c -E 'rxe0|cable0|cable1')" = 3 ] || fail "there are not three devices"
ibv_devinfo -d cable1 | grep -q "active_mtu:[[:space:]]*1024" || fail "the port has another MTU"

# A port goes down, and comes up again.
ip link set end1 down
await grep -q DOWN /sys/class/infiniband/cable0/ports/1/state
rdma link
ip link set end1 up
await grep -q ACTIVE /sys/class/infiniband/cable0/ports/1/state

# A device is removed. The kernel waits until nobody has it open.
ib_write_bw -d cable0 >/tmp/server 2>&1 &
user=$!
await listens 18515
rdma link delete cable0 &
removal=$!
sleep 1
kill -0 $removal || fail "the kernel does not wait for who has the device open"
kill $user
wait $removal || fail "the device cannot be removed"
[ -e /sys/class/infiniband/cable0 ] && fail "the device is still there"
[ -e /sys/class/infiniband/cable1 ] || fail "the other device is gone"
echo "three devices, one of which was removed"
