# A program on three nodes against the same program in one process.
. ./common.sh
# Few words, often: node 0 may not print for long after the others have ended.
for _ in $(seq 200); do cat common.sh; done >/tmp/text
./word_count -n all /tmp/text >/tmp/expected || fail "one process"
echo "$(wc -l </tmp/expected) words"
for fabric in shm verbs; do
    export GOSSAMER_FABRIC=$fabric
    ./gossamer run --local 3 --no-prefix -- ./word_count -n all /tmp/text >/tmp/found || fail "three nodes"
    cmp /tmp/expected /tmp/found || fail "three nodes count something else"
    if [ $fabric = shm ]; then
        [ "$(hardware_counter sent_pkts)" = 0 ] || fail "shared memory takes packets"
    fi
done
check_packets 100
check_receives
