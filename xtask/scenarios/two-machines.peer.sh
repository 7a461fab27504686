# The second machine: the client of perftest.
. ./common.sh
# The server may not have begun.
client() { timeout 60 "$@" "$PEER_ADDRESS" >/tmp/client 2>&1; }
await client ib_write_lat -d rxe0 -s 64 -n 200
grep -A 1 '#bytes' /tmp/client

begun() { client ib_write_bw -d rxe0 --duration 20; ! grep -q "Couldn't connect" /tmp/client; }
await begun
grep -E "Completion with error|Failed status" /tmp/client || { cat /tmp/client; fail "the cut was not seen"; }
