# What nodes may use of their machine, by cgroups of version 2, and what is said of nodes that needed more memory.
. ./common.sh
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup || fail "no cgroups of version 2"
as_built
./command-tests limits:: --test-threads 1 >/tmp/tested 2>&1
status=$?
cat /tmp/tested
[ $status = 0 ] || exit $status
grep -q SKIPPED /tmp/tested && fail "a test was skipped"
exit 0
