# What a request costs: packets, and calls of the kernel, of which a post is one, and most are of workers that offer their processor.
# Counted by the kernel, of 3000 requests more.
. ./common.sh
export GOSSAMER_FABRIC=verbs GOSSAMER_THREADS=1
tracing=/sys/kernel/tracing
calls=$tracing/events/raw_syscalls/sys_enter
mount -t tracefs tracing $tracing || fail "tracefs"

# Calls of nodes so far, by number: `write` is 1.
counted_calls() { awk -v number="$1" '/id:/ { gsub(/[^0-9 ]/, ""); if (number == "all" || $2 == number) sum += $3 } END { print sum + 0 }' $calls/hist; }

measure() {
    echo '!hist:keys=common_pid,id' >$calls/trigger
    echo 'hist:keys=common_pid,id if comm ~ "gossamer*" || comm ~ "rack_program*"' >$calls/trigger || fail "no histograms"
    before=$(hardware_counter sent_pkts)
    REQUESTS=$1 start_nodes 2 requests
    await_nodes 0 0
    check_receives
    packets=$(($(hardware_counter sent_pkts) - before))
    posts=$(counted_calls 1)
    all=$(counted_calls all)
    echo "$1 requests: $packets packets, $posts writes to descriptors, $all calls"
}

# In hundredths of one for each request.
each() { echo $((($1 - $2) / 30)); }

measure 1000
first_packets=$packets first_posts=$posts first_all=$all
measure 4000
packets=$(each "$packets" "$first_packets") posts=$(each "$posts" "$first_posts") all=$(each "$all" "$first_all")
echo "each request, in hundredths: $packets packets, $posts posts, $all calls of the kernel"
# A request is two writes each way, of a packet each, which are acknowledged, by a post each way. For one of 31 batches a message tells of
# credit, which may need a post of its own; and where a machine is slow, workers sleep, and ring the watcher up to 20 times a second.
[ "$posts" -ge 199 ] && [ "$posts" -le 225 ] || fail "there should be two posts"
[ "$packets" -ge 400 ] && [ "$packets" -le 830 ] || fail "there should be four writes, acknowledged"
