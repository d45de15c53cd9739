/** A mounted control group hierarchy of this machine, and this process' group in it. */
export interface Hierarchy {
  /** Mount point, e.g. /sys/fs/cgroup/memory. */
  readonly mount: string;
  readonly version: 1 | 2;
  /** Controllers, or `name=systemd`; empty for version 2. */
  readonly controllers: readonly string[];
  /** This process' group in it, from its root: / or /some/group. */
  readonly own: string;
}

/** Parses /proc/self/mountinfo and /proc/self/cgroup (cgroups(7)). Hierarchies that are not mounted are omitted. */
export const hierarchiesOf = (mountinfo: string, selfCgroup: string): readonly Hierarchy[] => {
  const mounts = mountinfo.split('\n').flatMap(mountOf);
  return selfCgroup
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line): readonly Hierarchy[] => {
      const [, id = '', list = '', own = '/'] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
      const controllers = list === '' ? [] : list.split(',');
      const found =
        id === '0'
          ? mounts.find(({ version }) => version === 2)
          : mounts.find(({ version, options }) => version === 1 && controllers.every((name) => options.includes(name)));
      return found === undefined ? [] : [{ mount: found.mount, version: found.version, controllers, own }];
    });
};

/** mountinfo's fields end with ` - type source options` (proc(5)). */
const mountOf = (
  line: string,
): readonly { readonly mount: string; readonly version: 1 | 2; readonly options: readonly string[] }[] => {
  const [before = '', after = ''] = line.split(' - ');
  const mount = before.split(' ')[4] ?? '';
  const [type = '', , options = ''] = after.split(' ');
  if (type !== 'cgroup' && type !== 'cgroup2') return [];
  return [{ mount, version: type === 'cgroup' ? 1 : 2, options: options.split(',') }];
};

/** Hosts use only version 2 if the machine does: systemd-nspawn gives a host the machine's hierarchies. */
export const isUnified = (hierarchies: readonly Hierarchy[]): boolean =>
  hierarchies.length > 0 && hierarchies.every(({ version }) => version === 2);

/**
 * The group of a host in each hierarchy. In version 1 it is below our own, so that our limits apply to the host. In
 * version 2 a group with processes cannot contain groups with controllers (cgroups(7), "no internal processes"): there
 * it is a sibling of ours.
 */
export const groupsFor = (name: string, hierarchies: readonly Hierarchy[]): readonly string[] =>
  hierarchies.map(({ mount, version, own }) => {
    const parent = version === 1 ? own : own.replace(/\/[^/]*$/, '');
    return `${mount}${parent === '/' ? '' : parent}/${name}`;
  });
