import { type ApplicationSettings, type StoredEvent, CONNECTIONS_STREAM, streamSubject } from '@fairlead/contracts';

/** A currently registered application. */
export interface RegisteredApplication extends ApplicationSettings {
  /** The event that last registered it. */
  readonly registration: string;
}

/** By name. */
export type RegisteredApplications = ReadonlyMap<string, RegisteredApplication>;

export const NO_APPLICATIONS: RegisteredApplications = new Map();

/** Matches every event of `RegisteredApplications`. */
export const APPLICATIONS_FILTER = `${streamSubject(CONNECTIONS_STREAM)}.>`;

export const applicationsAfter = (before: RegisteredApplications, event: StoredEvent): RegisteredApplications => {
  switch (event.type) {
    case 'ApplicationRegistered': {
      const { name, ...settings } = event.data;
      return new Map(before).set(name, { ...settings, registration: event.meta.id });
    }
    case 'ApplicationRemoved':
      return new Map([...before].filter(([name]) => name !== event.data.name));
    default:
      return before;
  }
};
