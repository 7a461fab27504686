# The first machine: the server of perftest, whose link is cut the second time.
. ./common.sh
ib_write_lat -d rxe0 -s 64 -n 200 >/tmp/server || { cat /tmp/server; fail "ib_write_lat"; }

ib_write_bw -d rxe0 --duration 20 >/tmp/server 2>&1 &
before=$(hardware_counter rcvd_pkts)
writes_have_come() { [ "$(hardware_counter rcvd_pkts)" -gt $((before + 200)) ]; }
await writes_have_come
ip link set eth0 down
echo "the link is cut"
# Until the other one has seen it: its clock runs from the last write on.
sleep 15
