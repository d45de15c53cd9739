#!/bin/bash
# rootfs.sh <folder>: makes the root file system that OpenStack's services run in (Debian 12, about 2 GiB), once.
set -e
folder=$1
packages=keystone,placement-api,nova-api,nova-conductor,nova-scheduler,python3-nova,neutron-server,glance-api
packages=$packages,rabbitmq-server,mariadb-server,python3-pymysql,iproute2,curl,ca-certificates,procps,netbase
wanted="bookworm $packages"
[ "$(cat "$folder/etc/fairlead-openstack" 2>/dev/null)" = "$wanted" ] && exit 0
partial=$folder.partial
rm -rf "$partial" "$folder"
mkdir -p "$(dirname "$folder")"
# No service is started by its package, and nothing waits for the disk: a part that was not completed is made again.
mmdebstrap --quiet --variant=apt --mode=root --skip=check/qemu --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='force-unsafe-io' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --setup-hook='mkdir -p "$1/usr/sbin" && printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d" && chmod +x "$1/usr/sbin/policy-rc.d"' \
  --include="$packages" bookworm "$partial"
echo "$wanted" >"$partial/etc/fairlead-openstack"
mv -T "$partial" "$folder"
