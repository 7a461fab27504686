# The first machine: the server of perftest. Then its end of the link goes down.
. ./common.sh
ib_write_lat -d rxe0 -s 64 -n 200 >/tmp/server || { cat /tmp/server; fail "ib_write_lat"; }
ib_write_bw -d rxe0 -s 65536 -n 50 >/tmp/server || { cat /tmp/server; fail "ib_write_bw"; }
ip link set eth0 down
grep -q DOWN /sys/class/infiniband/rxe0/ports/1/state || fail "the port is not down"
echo "the link is cut"
# For the other machine to see it.
sleep 5
