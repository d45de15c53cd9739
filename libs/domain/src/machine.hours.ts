import { without, type ClusterUid, type ConnectionName, type StoredEvent } from '@fairlead/contracts';

/** A kind of machine: what a price is for. */
export interface MachineKind {
  readonly connection: ConnectionName;
  /** Its machine type. */
  readonly type: string;
}

/** How long machines of a cluster have run, without any price: prices may change later. */
export interface MachineHours {
  readonly uid: ClusterUid;
  /** Those that run, by name, with the time since when. */
  readonly running: Readonly<Record<string, MachineKind & { readonly since: string }>>;
  /** Those that are gone, by kind: how many milliseconds they ran together. */
  readonly ended: Readonly<Record<string, MachineKind & { readonly ms: number }>>;
}

const HOUR_MS = 3_600_000;

const elapsedMs = (since: string, until: string): number => Math.max(0, Date.parse(until) - Date.parse(since));

const ended = (hours: MachineHours, name: string, time: string): MachineHours => {
  const machine = hours.running[name];
  if (machine === undefined) return hours;
  const { since, ...kind } = machine;
  const key = `${kind.connection}/${kind.type}`;
  const ms = (hours.ended[key]?.ms ?? 0) + elapsedMs(since, time);
  return { ...hours, running: without(hours.running, name), ended: { ...hours.ended, [key]: { ...kind, ms } } };
};

/** A machine counts from when it runs until it is deleted; one that is only stopped goes on to count. */
export const machineHoursAfter = (before: MachineHours | undefined, event: StoredEvent): MachineHours | undefined => {
  const { time } = event.meta;
  if (event.type === 'ClusterRequested') return before ?? { uid: event.data.uid, running: {}, ended: {} };
  if (before === undefined || !('uid' in event.data) || event.data.uid !== before.uid) return before;
  switch (event.type) {
    case 'VmCreated': {
      const { name, connection, spec: type } = event.data.machine;
      if (before.running[name] !== undefined) return before;
      return { ...before, running: { ...before.running, [name]: { connection, type, since: time } } };
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

export const usedHours = ({ running, ended: past }: MachineHours, now: string): readonly UsedHours[] => {
  const used = new Map<string, UsedHours>();
  const add = ({ connection, type }: MachineKind, more: number, ms: number): void => {
    const key = `${connection}/${type}`;
    const before = used.get(key) ?? { connection, type, running: 0, hours: 0 };
    used.set(key, { ...before, running: before.running + more, hours: before.hours + ms / HOUR_MS });
  };
  for (const { ms, ...kind } of Object.values(past)) add(kind, 0, ms);
  for (const { since, ...kind } of Object.values(running)) add(kind, 1, elapsedMs(since, now));
  return [...used.values()].toSorted((one, other) =>
    `${one.connection}/${one.type}` < `${other.connection}/${other.type}` ? -1 : 1,
  );
};
