import type { ApplicationName, StoredEvent } from '@fairlead/contracts';
import { later, stateOnly, type Reconciler, type Task } from '@fairlead/event-sourcing';

/** Registered applications, and the start time of their synchronization intervals (RFC 3339). */
type Applications = Readonly<Record<ApplicationName, string>>;

const NO_APPLICATIONS: Applications = {};

const without = (applications: Applications, name: ApplicationName): Applications => {
  const left = Object.entries(applications).filter(([one]) => one !== name);
  return left.length === 0 ? NO_APPLICATIONS : Object.fromEntries(left);
};

const evolve = (applications: Applications, { type, data, meta }: StoredEvent): Applications => {
  switch (type) {
    case 'ApplicationRegistered':
      return { ...applications, [data.name]: meta.time };
    case 'ApplicationSyncRequested':
      return applications[data.name] === undefined ? applications : { ...applications, [data.name]: meta.time };
    case 'ApplicationRemoved':
      return applications[data.name] === undefined ? applications : without(applications, data.name);
    default:
      return applications;
  }
};

const syncOf = (application: ApplicationName, reason: string, dueAt?: string): Task => ({
  type: 'SyncApplication',
  key: `SyncApplication/${application}`,
  reason,
  data: dueAt === undefined ? { application } : { application, dueAt },
});

/** The first time after `now` that is a multiple of the interval after `since`. */
const nextAfter = (since: string, now: string, everyMs: number): string => {
  const intervals = Math.floor((Date.parse(now) - Date.parse(since)) / everyMs) + 1;
  return later(since, Math.max(1, intervals) * everyMs);
};

/**
 * An application is synchronized when it is registered, on request, and at intervals. Its versions are removed after
 * its removal.
 */
export const catalogueReconciler = (everyMs: number): Reconciler<Applications> => ({
  name: 'catalogue',
  version: 2,
  context: 'request',
  decider: stateOnly(NO_APPLICATIONS, evolve),
  generation: () => '',
  tasks: () => [],
  followUps: (applications, { event, now }) => {
    if (event === undefined)
      return Object.entries(applications)
        .filter(([, since]) => now > since && nextAfter(since, later(now, -1), everyMs) === now)
        .map(([application]) => syncOf(application as ApplicationName, 'its interval is over', now));
    switch (event.type) {
      case 'ApplicationRegistered':
        return [syncOf(event.data.name, 'it was registered')];
      case 'ApplicationSyncRequested':
        return [syncOf(event.data.name, 'it was requested')];
      case 'ApplicationRemoved':
        return [syncOf(event.data.name, 'it was removed')];
      default:
        return [];
    }
  },
  wakeAt: (applications, now) =>
    Object.values(applications)
      .map((since) => nextAfter(since, now, everyMs))
      .toSorted()[0] ?? null,
});
