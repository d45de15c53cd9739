import { existsSync, readdirSync, readFileSync, rmdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupsFor, hierarchiesOf, isUnified, type Hierarchy } from './cgroups.rules.js';

const machineHierarchies = (): readonly Hierarchy[] =>
  hierarchiesOf(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));

export const machineIsUnified = (): boolean => isUnified(machineHierarchies());

export const machineGroupsFor = (name: string): readonly string[] => groupsFor(name, machineHierarchies());

/** Folders of a group and of all groups within it, innermost first. */
const withInner = (group: string): readonly string[] => {
  if (!existsSync(group)) return [];
  return [...foldersIn(group).flatMap((inner) => withInner(join(group, inner))), group];
};

const foldersIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry: Dirent) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return []; // It disappeared between two reads.
  }
};

/** Every process in a group and in the groups within it. */
const processesIn = (group: string): readonly number[] =>
  withInner(group).flatMap((folder) => {
    try {
      return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    } catch {
      return []; // It disappeared between two reads.
    }
  });

const REMOVAL_TRIES_MAX = 50;
const REMOVAL_PAUSE_MS = 20;

/** Ends all processes of the groups and removes the groups. Returns the groups that could not be removed. */
export const removeGroups = async (groups: readonly string[]): Promise<readonly string[]> => {
  for (let tries = 0; tries < REMOVAL_TRIES_MAX; tries += 1) {
    for (const pid of new Set(groups.flatMap(processesIn))) kill(pid);
    for (const folder of groups.flatMap(withInner)) removeIfEmpty(folder);
    if (!groups.some((group) => existsSync(group))) return [];
    await sleep(REMOVAL_PAUSE_MS);
  }
  return groups.filter((group) => existsSync(group));
};

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself, as desired. A group with a process that cannot be killed is kept and reported.
  }
};

const removeIfEmpty = (folder: string): void => {
  try {
    rmdirSync(folder);
  } catch {
    // Something in it is still ending: the next attempt, or the caller, detects that.
  }
};

/** All groups of this machine with this name prefix, in any hierarchy; `depthMax` bounds the search. */
export const groupsNamed = (prefix: string, depthMax = 6): readonly string[] =>
  machineHierarchies().flatMap(({ mount }) => search(mount, prefix, depthMax));

const search = (folder: string, prefix: string, depth: number): readonly string[] =>
  depth === 0
    ? []
    : foldersIn(folder).flatMap((name) =>
        name.startsWith(prefix) ? [join(folder, name)] : search(join(folder, name), prefix, depth - 1),
      );
