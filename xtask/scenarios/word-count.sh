# A program on three nodes against the same program in one process.
. ./common.sh
# Few words, often: node 0 may not print for long after the others have ended.
for _ in $(seq 200); do cat common.sh; done >/tmp/text
./word_count -n all /tmp/text >/tmp/expected || fail "one process"
./gossamer run --local 3 --no-prefix -- ./word_count -n all /tmp/text >/tmp/found || fail "three nodes"
cmp /tmp/expected /tmp/found || fail "three nodes count something else"
echo "$(wc -l </tmp/expected) words"
