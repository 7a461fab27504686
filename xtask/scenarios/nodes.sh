# The tests of nodes, over the device of the kernel.
. ./common.sh
export GOSSAMER_TEST_DEVICE=installed GOSSAMER_TEST_FABRIC=verbs
as_built
./rack-tests nodes:: large::large_values collectives::collectives || exit
check_packets 1000
./rack-tests processes::processes_compute processes::a_panic || exit
check_packets 1000
check_receives
