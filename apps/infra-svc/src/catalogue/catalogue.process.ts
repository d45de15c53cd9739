import { job, later, timer, cancelTimer, type Process } from '@fairlead/event-sourcing';

export const SYNC_APPLICATION = 'SyncApplication';

/** Names of the applications that are registered. */
type Applications = readonly string[];

const timerOf = (application: string): string => `sync ${application}`;

const without = (applications: Applications, name: string): Applications => applications.filter((one) => one !== name);

/** An application is synchronized when it is registered, on request, and then at each interval. The job after its removal removes its versions. */
export const catalogueProcess = (everyMs: number): Process<Applications> => ({
  name: 'catalogue',
  version: 1,
  initial: [],
  evolve: (applications, event) => {
    switch (event.type) {
      case 'ApplicationRegistered':
        return [...without(applications, event.data.name), event.data.name];
      case 'ApplicationRemoved':
        return without(applications, event.data.name);
      default:
        return applications;
    }
  },
  react: (_applications, event) => {
    switch (event.type) {
      case 'ApplicationRegistered':
      case 'ApplicationSyncRequested': {
        const { name: application } = event.data;
        const next = timer(timerOf(application), later(event.meta.time, everyMs), { application });
        return [job(SYNC_APPLICATION, { application }), next];
      }
      case 'ApplicationRemoved': {
        const { name: application } = event.data;
        return [job(SYNC_APPLICATION, { application }), cancelTimer(timerOf(application))];
      }
      default:
        return [];
    }
  },
  due: (applications, { key, dueAt, data }) => {
    const { application } = data;
    if (typeof application !== 'string' || !applications.includes(application)) return [];
    return [job(SYNC_APPLICATION, { application, dueAt }), timer(key, later(dueAt, everyMs), { application })];
  },
});
