# The second machine: the client of perftest.
. ./common.sh
# The server may not have begun.
client() { timeout 60 "$@" "$PEER_ADDRESS" >/tmp/client 2>&1; }
await client ib_write_lat -d rxe0 -s 64 -n 200
grep -A 1 '#bytes' /tmp/client
await client ib_write_bw -d rxe0 -s 65536 -n 50
grep -A 1 '#bytes' /tmp/client
is_cut() { ! ping -c 1 -W 1 "$PEER_ADDRESS"; }
await is_cut
