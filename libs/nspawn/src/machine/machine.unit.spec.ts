import { describe, expect, it } from '@jest/globals';
import { groupsFor, hierarchiesOf, isUnified } from './cgroups.rules.js';
import { installLine, noRoomOnDisk, noRoomToWatch, obstaclesOf } from './requirements.rules.js';

const FINE = {
  platform: 'linux' as const,
  isRoot: true,
  missingPrograms: [],
  hasOverlay: true,
  watches: { limit: 128, used: 5 },
};

describe('an unsuitable machine', () => {
  it('is refused with all obstacles at once, each with a remedy', () => {
    const obstacles = obstaclesOf({ ...FINE, isRoot: false, missingPrograms: ['ip', 'systemd-nspawn', 'nsenter'] });
    expect(obstacles).toHaveLength(2);
    expect(obstacles[1]).toBe(
      'missing: ip, systemd-nspawn, nsenter. Install them: ' +
        'apt-get install --yes --no-install-recommends systemd-container iproute2 util-linux',
    );
  });

  it('is refused with nothing else if it does not run Linux', () =>
    expect(obstaclesOf({ ...FINE, platform: 'darwin', isRoot: false })).toEqual([
      'local hosts need Linux; this is darwin',
    ]));

  it('has no obstacle if every requirement is met', () => expect(obstaclesOf(FINE)).toEqual([]));

  it('with too low a limit of inotify instances is refused with the way to raise it', () => {
    expect(obstaclesOf({ ...FINE, watches: { limit: 128, used: 110 } })).toEqual([
      "a cluster of 1 + 0 hosts has up to 26 inotify instances, and 110 of root's 128 are in use. " +
        'Allow more: sysctl -w fs.inotify.max_user_instances=512',
    ]);
  });

  it('has capacity for another worker beside five hosts, if not for another control plane', () => {
    const watches = { limit: 128, used: 5 + 107 };
    expect(obstaclesOf({ ...FINE, watches })).toHaveLength(1);
    expect(obstaclesOf({ ...FINE, watches }, 5)).toEqual([]);
    expect(obstaclesOf({ ...FINE, watches: { limit: 128, used: 114 } }, 5)).toEqual([
      "a worker has up to 15 inotify instances, and 114 of root's 128 are in use. " +
        'Allow more: sysctl -w fs.inotify.max_user_instances=512',
    ]);
  });

  it('has capacity for one cluster of five hosts with the usual kernel limits, but not for two', () => {
    expect(noRoomToWatch(FINE.watches, 3, 2)).toBeUndefined();
    expect(noRoomToWatch({ ...FINE.watches, used: 5 + 107 }, 3, 2)).toMatch(/^a cluster of 3 \+ 2 hosts/);
  });

  it('with a disk so full that kubelets would taint their nodes is refused with the space to free', () => {
    const disk = { folder: '/srv/hosts', totalBytes: 100 * 2 ** 30, freeBytes: 12 * 2 ** 30 };
    expect(obstaclesOf({ ...FINE, disk })).toEqual([
      'the file system of /srv/hosts is 88 % full, and from 85 % on kubelets taint their nodes with disk-pressure and evict pods. ' +
        'Free 3 GiB there, or use another folder',
    ]);
    expect(noRoomOnDisk({ ...disk, freeBytes: 15 * 2 ** 30 })).toBeUndefined();
  });

  it('names each package once', () => expect(installLine(['nsenter', 'unshare', 'flock'])).toMatch(/ util-linux$/));
});

/** Like a Debian 12 machine with version 1, with each controller mounted separately. */
const V1_MOUNTS = `24 1 0:21 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro
25 24 0:22 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
26 24 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
27 24 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
28 24 0:25 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
29 1 0:26 / /proc rw - proc proc rw
`;
const V1_SELF = '4:cpu,cpuacct:/\n3:memory:/jobs/17\n2:pids:/\n1:name=systemd:/user.slice\n0::/\n';
const V2_MOUNTS = '24 1 0:21 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n';

describe('the groups of a host', () => {
  it('are below our own in each mounted hierarchy of version 1', () => {
    const hierarchies = hierarchiesOf(V1_MOUNTS, V1_SELF);
    expect(isUnified(hierarchies)).toBe(false);
    expect(groupsFor('host-a', hierarchies)).toEqual([
      '/sys/fs/cgroup/cpu,cpuacct/host-a',
      '/sys/fs/cgroup/memory/jobs/17/host-a',
      '/sys/fs/cgroup/systemd/user.slice/host-a',
      '/sys/fs/cgroup/unified/host-a',
    ]);
  });

  it.each([
    ['/', '/sys/fs/cgroup/host-a'],
    ['/system.slice/fairlead.service', '/sys/fs/cgroup/system.slice/host-a'],
    ['/fairlead', '/sys/fs/cgroup/host-a'],
  ])('are siblings of ours (%s) in version 2, where a group with processes has no groups', (own, expected) => {
    const hierarchies = hierarchiesOf(V2_MOUNTS, `0::${own}\n`);
    expect(isUnified(hierarchies)).toBe(true);
    expect(groupsFor('host-a', hierarchies)).toEqual([expected]);
  });
});
