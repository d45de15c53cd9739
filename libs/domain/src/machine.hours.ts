import { without, type ClusterUid, type ConnectionName, type StoredEvent } from '@fairlead/contracts';

/** A kind of machine: what a price is for. */
export interface MachineKind {
  readonly connection: ConnectionName;
  /** Its machine type. */
  readonly type: string;
}

/** How long the machines of a kind have run. A cluster may have a thousand: each takes about 30 bytes. */
export interface KindHours extends MachineKind {
  /** Those that run, by name, with the time since when, in milliseconds. */
  readonly running: Readonly<Record<string, number>>;
  /** How many milliseconds those that are gone ran together. */
  readonly endedMs: number;
}

/** How long machines of a cluster have run, by kind, without any price: prices may change later. */
export interface MachineHours {
  readonly uid: ClusterUid;
  readonly kinds: Readonly<Record<string, KindHours>>;
}

const HOUR_MS = 3_600_000;

const keyOf = ({ connection, type }: MachineKind): string => `${connection}/${type}`;

const begun = (hours: MachineHours, name: string, kind: MachineKind, time: string): MachineHours => {
  if (Object.values(hours.kinds).some(({ running }) => Object.hasOwn(running, name))) return hours;
  const before = hours.kinds[keyOf(kind)] ?? { ...kind, running: {}, endedMs: 0 };
  const after = { ...before, running: { ...before.running, [name]: Date.parse(time) } };
  return { ...hours, kinds: { ...hours.kinds, [keyOf(kind)]: after } };
};

const ended = (hours: MachineHours, name: string, time: string): MachineHours => {
  const before = Object.values(hours.kinds).find(({ running }) => Object.hasOwn(running, name));
  const since = before?.running[name];
  if (before === undefined || since === undefined) return hours;
  const endedMs = before.endedMs + Math.max(0, Date.parse(time) - since);
  const after = { ...before, running: without(before.running, name), endedMs };
  return { ...hours, kinds: { ...hours.kinds, [keyOf(before)]: after } };
};

/** A machine counts from when it runs until it is deleted; one that is only stopped goes on to count. */
export const machineHoursAfter = (before: MachineHours | undefined, event: StoredEvent): MachineHours | undefined => {
  const { time } = event.meta;
  if (event.type === 'ClusterRequested') return before ?? { uid: event.data.uid, kinds: {} };
  if (before === undefined || !('uid' in event.data) || event.data.uid !== before.uid) return before;
  switch (event.type) {
    case 'VmCreated': {
      const { name, connection, spec: type } = event.data.machine;
      return begun(before, name, { connection, type }, time);
    }
    case 'VmDeleted':
      return ended(before, event.data.name, time);
    case 'ClusterDeleted':
      return undefined;
    default:
      return before;
  }
};

/** Hours of all machines of a kind, and how many of them run. */
export interface UsedHours extends MachineKind {
  readonly running: number;
  readonly hours: number;
}

export const usedHours = ({ kinds }: MachineHours, now: string): readonly UsedHours[] =>
  Object.values(kinds)
    .map(({ connection, type, running, endedMs }) => {
      const since = Object.values(running);
      const ms = since.reduce((sum, from) => sum + Math.max(0, Date.parse(now) - from), endedMs);
      return { connection, type, running: since.length, hours: ms / HOUR_MS };
    })
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
