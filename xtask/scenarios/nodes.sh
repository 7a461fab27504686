# The tests of nodes, over the device of the kernel.
. ./common.sh
export GOSSAMER_TEST_DEVICE=installed GOSSAMER_TEST_FABRIC=verbs
as_built
./rack-tests nodes:: large::large_values collectives::collectives --skip nodes::a_property --skip nodes::plain_data || exit
check_packets 1000
./rack-tests processes::processes_compute || exit
check_packets 1000
check_receives
