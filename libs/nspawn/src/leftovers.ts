import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupsNamed } from './machine/cgroups.js';
import { run } from './machine/commands.js';
import { linksIn } from './network/links.rules.js';
import { runningProcesses } from './machine/processes.js';

/** Something that still exists and belongs to the hosts of a state folder. */
export interface Leftover {
  readonly kind: 'process' | 'mount' | 'device' | 'namespace' | 'group' | 'file';
  readonly what: string;
}

/** Identifies resources of one state folder, even without its records. */
export interface Marks {
  readonly stateDir: string;
  readonly groupPrefix: string;
  readonly namespaces: readonly string[];
  readonly devices: readonly string[];
  readonly hostTags: readonly string[];
}

const HOST_FOLDERS = ['hosts', 'balancers', 'networks', 'trash'];
const NSPAWN_FOLDERS = ['/run/systemd/nspawn/propagate', '/run/systemd/nspawn/unix-export'];

/** All leftovers, found by inspecting the machine, not the records. Empty after everything was deleted. */
export const leftovers = async (marks: Marks): Promise<readonly Leftover[]> => [
  ...processes(marks),
  ...mounts(marks),
  ...(await devices(marks)),
  ...namesIn('/run/netns')
    .filter((name) => marks.namespaces.includes(name))
    .map(as('namespace')),
  ...groupsNamed(marks.groupPrefix).map(as('group')),
  ...files(marks),
];

const as =
  (kind: Leftover['kind']) =>
  (what: string): Leftover => ({ kind, what });

/** By command lines, and by groups: processes inside a host contain none of our names. */
const processes = ({ stateDir, groupPrefix }: Marks): readonly Leftover[] =>
  runningProcesses()
    .filter(
      ({ words, groups }) =>
        groups.includes(`/${groupPrefix}`) ||
        words.some((word) => word.includes(`${stateDir}/hosts/`) || word.includes(`${stateDir}/balancers/`)),
    )
    .map(({ pid, words }) => ({ kind: 'process', what: `${pid} ${words.join(' ')}` }));

const mounts = ({ stateDir }: Marks): readonly Leftover[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(stateDir))
    .map(as('mount'));

const devices = async (marks: Marks): Promise<readonly Leftover[]> => {
  const at = { operation: 'look for leftovers', target: marks.stateDir };
  return linksIn(await run(at, 'ip', ['-json', 'link', 'show']))
    .map(({ ifname }) => ifname)
    .filter((name) => marks.devices.includes(name))
    .map(as('device'));
};

const files = ({ stateDir, hostTags }: Marks): readonly Leftover[] =>
  [
    ...HOST_FOLDERS.flatMap((folder) => namesIn(join(stateDir, folder)).map((name) => join(stateDir, folder, name))),
    ...NSPAWN_FOLDERS.flatMap((folder) => hostTags.map((tag) => join(folder, tag)).filter((path) => existsSync(path))),
  ].map(as('file'));

const namesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);
