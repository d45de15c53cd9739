#!/bin/sh
# Records what the real tools print that the agent reads. Run it on a prepared host: sh record.sh > somewhere.txt
# Each answer begins with the command behind "$ " and ends before the next one.
record() {
  printf '$ %s\n' "$*"
  "$@" 2>&1 || printf '(exit code %s)\n' "$?"
}
record kubeadm version -o short
record kubelet --version
record kubectl version --client
record dpkg-query -W '-f=${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n' containerd runc conntrack kubelet
record ctr --version
record ctr -n k8s.io images ls -q
record systemctl --version
record systemctl show --property=LoadState,NeedDaemonReload kubelet.service
record systemctl show --property=LoadState,NeedDaemonReload nothing.service
record cat /etc/os-release
record cat /proc/swaps
record grep CapBnd /proc/1/status
