# The tests of the library that have a device, over the one of the kernel.
. ./common.sh
export GOSSAMER_TEST_DEVICE=installed
./gossamer-tests fabric::verbs --show-output || exit
check_receives
