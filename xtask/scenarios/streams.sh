# Streams, over the device of the kernel.
. ./common.sh
export GOSSAMER_TEST_DEVICE=installed GOSSAMER_FABRIC=verbs
./stream-tests channels:: killed:: safe::both trouble::a_receiver trouble::a_sender wire::what_a_receiver \
    --skip channels::two_ends || exit
check_packets 1000

echo "--- 64 MiB between two processes"
dd if=/dev/urandom of=/tmp/sent bs=1M count=64 2>/dev/null
mkdir /tmp/received
./gossamer recv --listen "$ADDRESS:4000" --json --output /tmp/received >/tmp/receiver 2>&1 &
receiver=$!
await grep -q waiting /tmp/receiver
code=$(sed -n 's/.*"code":"\([^"]*\)".*/\1/p' /tmp/receiver)
./gossamer send --to "$ADDRESS:4000" --code "$code" --json /tmp/sent >/tmp/sender 2>&1 || { cat /tmp/sender; fail "send"; }
wait $receiver || { cat /tmp/receiver; fail "recv"; }
tail -n 1 /tmp/receiver
cmp /tmp/sent /tmp/received/sent || fail "something else was received"
# Blocks are read, in packets of 4096 bytes.
check_packets 16384
check_receives
