#!/bin/bash
# start.sh <root>: starts OpenStack's services in a copy-on-write view of their root file system, in the network namespace of the caller.
# Prints the access to it (JSON) once it is ready, and ends when its standard input does; nothing of it stays.
set -e
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$1")
exec unshare --mount --pid --fork --kill-child --propagation private bash -c '
  set -e
  view=$(mktemp -d)
  mount -t tmpfs -o size=4096M tmpfs "$view"
  mkdir "$view/upper" "$view/work" "$view/root"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$view/upper,workdir=$view/work" "$view/root"
  mount -t proc proc "$view/root/proc"
  mount --rbind /dev "$view/root/dev"
  mkdir -p "$view/root/opt/openstack"
  cp "$2"/services.sh "$2"/setup.py "$view/root/opt/openstack/"
  exec chroot "$view/root" /bin/bash /opt/openstack/services.sh
' start "$root" "$here"
