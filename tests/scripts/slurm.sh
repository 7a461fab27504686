#!/usr/bin/env bash
# Runs commands against a cluster of Slurm with two nodes on this machine, made for the length of this call: real
# slurmctld, slurmd and munge, in a mount namespace of their own, where the nodes' names are known.
#
#   slurm.sh DIRECTORY COMMAND…      as root; DIRECTORY is empty and is given back empty
set -euo pipefail

if [[ "${1:-}" != --inside ]]; then
    exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
directory="$1"
shift
host="$(uname -n)"
cd "$directory"
# Ports that other clusters on this machine hardly have.
base=$((21000 + $$ % 9000))

{ cat /etc/hosts; echo "127.0.0.1 rack1 rack2"; } >hosts
mount --bind hosts /etc/hosts

cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$directory/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmctldPort=$base
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/%n.pid
SlurmctldLogFile=$directory/slurmctld.log
SlurmdLogFile=$directory/%n.log
SlurmdSpoolDir=$directory/spool.%n
StateSaveLocation=$directory/state
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=5
NodeName=rack[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + 2))] CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$directory/slurm.conf"

stop() {
    local file
    for file in rack1.pid rack2.pid slurmctld.pid munged.pid; do
        [[ -s $file ]] && kill "$(cat "$file")" 2>/dev/null || true
    done
    for _ in {1..50}; do
        [[ -e rack1.pid || -e rack2.pid || -e slurmctld.pid || -e munged.pid ]] || break
        sleep 0.1
    done
    umount /etc/hosts || true
    cd /
    rm -rf "${directory:?}"/*
}
trap stop EXIT

mkdir -p state spool.rack1 spool.rack2
dd if=/dev/urandom of=munge.key bs=128 count=1 status=none
chmod 400 munge.key
munged --force --key-file="$directory/munge.key" --socket="$directory/munge.socket" --pid-file="$directory/munged.pid" \
    --log-file="$directory/munged.log" --seed-file="$directory/munge.seed" >munged.out 2>&1
slurmctld -c
slurmd -N rack1
slurmd -N rack2
for _ in {1..100}; do
    [[ "$(sinfo -h -o %D -t idle 2>/dev/null)" == 2 ]] && break
    sleep 0.1
done
sinfo -h -o %D -t idle | grep -qx 2 || {
    echo "slurm.sh: the nodes of the cluster did not come up" >&2
    tail -n 5 ./*.log >&2
    exit 1
}
"$@"
