import { gunzipSync } from 'node:zlib';
import type { OwnHosts } from './own.hosts.js';

/**
 * What an administrator would compare on a host before and after it was a node, one fact per line: packages, files with
 * their content, units, kernel settings, mounts, packet filter rules, interfaces, addresses, routes, its name. Without
 * counters, times, and sudo's record of its first use.
 */
const SURVEY = String.raw`
export LC_ALL=C
dpkg-query -W -f 'package ${'${Package} ${Version}'}\n'
find /etc /root /home /opt /usr/local /srv -xdev -path /opt/fairlead/mirror -prune -o -type f ! -path '/etc/ld.so.cache' ! -path '/home/ops/.fairlead/*' ! -name .sudo_as_admin_successful -print0 | sort -z | xargs -0 -r sha256sum | sed 's/^/file /'
find /etc /root /home /opt /usr/local -xdev -type l -printf 'link %p -> %l\n' | sort
find /usr/bin /usr/sbin /usr/lib/systemd/system -xdev \( -type f -o -type l \) -printf 'program %p %s\n' | sort
find /var/lib/kubelet /var/lib/etcd /var/lib/cni /var/lib/fairlead /var/lib/calico /var/log/pods /var/log/containers /run/flannel /run/fairlead -xdev -type f -printf 'state %p\n' 2>/dev/null | grep -v 'step.lock' | sort
systemctl list-unit-files --no-legend --no-pager | awk '{ print "unit-file", $1, $2 }' | sort
systemctl list-units --type=service,timer,mount,socket --state=active,failed --no-legend --no-pager --plain | awk '{ print "unit", $1, $3 }' | sort
sysctl -a 2>/dev/null | grep -E '^(net|vm|kernel)\.' | grep -vE 'random|ns_last_pid|pty.nr|nf_conntrack_count|tcp_fastopen_key|\.(veth|cni0|flannel|nat0|vethr)[^.]*\.|kernel.(sched|perf|tainted|loadavg|numa)|stat_refresh|nr_hugepages|usermodehelper' | sed 's/^/setting /' | sort
awk '{ print "mount", $1, $2, $3 }' /proc/self/mounts | grep -vE ' /run/(user|credentials|systemd)/' | sort -u
nft --stateless list ruleset 2>/dev/null | sed 's/^/rule /'
ip -o link | awk -F ': ' '{ sub("@.*", "", $2); print "interface", $2 }' | sort
ip -o address | awk '{ print "address", $2, $3, $4 }' | sort
ip route | sed 's/^/route /; s/ *$//' | sort
ip rule | sed 's/^/route-rule /' | sort
printf 'name %s %s\n' "$(cat /proc/sys/kernel/hostname)" "$(cat /etc/hostname 2>/dev/null)"
ctr namespaces list -q 2>/dev/null | sed 's/^/namespace-of-containerd /' | sort
ctr -n k8s.io containers list -q 2>/dev/null | sed 's/^/container /' | sort
ctr -n k8s.io images list -q 2>/dev/null | sed 's/^/image /' | sort
`;

export const survey = async (hosts: Pick<OwnHosts, 'onHost'>, name: string): Promise<ReadonlySet<string>> =>
  new Set(
    // The output exceeds a command's limit.
    gunzipSync(Buffer.from(await hosts.onHost(name, 'sh', '-c', `{ ${SURVEY}\n} | gzip | base64 -w 0`), 'base64'))
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== ''),
  );

/** Lines that only one of them has, with - and +. */
export const changes = (before: ReadonlySet<string>, after: ReadonlySet<string>): readonly string[] => [
  ...[...before].filter((line) => !after.has(line)).map((line) => `- ${line}`),
  ...[...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`),
];
