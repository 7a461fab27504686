# Streams, over the device of the kernel.
. ./common.sh
export GOSSAMER_TEST_DEVICE=installed GOSSAMER_FABRIC=verbs
./stream-tests channels:: killed:: safe::both trouble::a_receiver trouble::a_sender wire::what_a_receiver \
    --skip channels::two_ends || exit
check_packets 1000

# Between two processes: how `send` ends.
transfer() {
    rm -f /tmp/receiver
    ./gossamer recv --listen "$ADDRESS:4000" --json --overwrite --output /tmp/received >/tmp/receiver 2>&1 &
    receiver=$!
    await grep -q waiting /tmp/receiver
    code=$(sed -n 's/.*"code":"\([^"]*\)".*/\1/p' /tmp/receiver)
    ./gossamer send --to "$ADDRESS:4000" --code "$code" --json /tmp/sent >/tmp/sender 2>&1
    sent=$?
    wait $receiver
}

echo "--- a file, whose contents are sealed, goes by TCP, or says that it may not"
dd if=/dev/urandom of=/tmp/sent bs=1M count=64 2>/dev/null
mkdir /tmp/received
transfer && fail "recv"
[ $sent = 3 ] || { cat /tmp/sender; fail "send has ended with $sent"; }
grep -q "does not go by RDMA" /tmp/sender || { cat /tmp/sender; fail "why is not told"; }
unset GOSSAMER_FABRIC
transfer || { cat /tmp/receiver; fail "recv"; }
[ $sent = 0 ] || { cat /tmp/sender; fail "send"; }
cmp /tmp/sent /tmp/received/sent || fail "something else was received"
check_packets 0
[ "$found" = 0 ] || fail "there was RDMA"
check_receives
