import type {
  ApplicationProblem,
  ApplicationSettings,
  ApplicationVersion,
  ApplicationView,
  StoredEvent,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import rcompare from 'semver/functions/rcompare.js';

interface Registration extends ApplicationSettings {
  /** The event that registered it last. */
  readonly registration: string;
  readonly registeredAt: string;
}

/** What is shown of an application. */
export interface ApplicationDoc {
  /** null: it was removed, and infra-svc has not yet removed its versions. */
  readonly registered: Registration | null;
  /** How it was found since it was registered last; absent: not yet. */
  readonly found?: {
    readonly at: string;
    /** Absent: it is synchronized. */
    readonly problem?: { readonly reason: ApplicationProblem; readonly message: string };
  };
  /** Newest first, without schemas. */
  readonly versions: readonly ApplicationVersion[];
}

const NONE: ApplicationDoc = { registered: null, versions: [] };

const withoutVersion = (doc: ApplicationDoc, version: string): readonly ApplicationVersion[] =>
  doc.versions.filter((known) => known.version !== version);

const found = (
  doc: ApplicationDoc,
  event: StoredEvent<'ApplicationSynchronized' | 'ApplicationNotSynchronized'>,
): ApplicationDoc => {
  // What was found of an application that was registered again meanwhile says nothing about it.
  if (doc.registered?.registration !== event.data.registration) return doc;
  if (event.type === 'ApplicationSynchronized') return { ...doc, found: { at: event.meta.time } };
  const { reason, message } = event.data;
  return { ...doc, found: { at: event.meta.time, problem: { reason, message } } };
};

const after = (doc: ApplicationDoc, event: StoredEvent): ApplicationDoc => {
  switch (event.type) {
    case 'ApplicationRegistered': {
      const { name: _name, ...settings } = event.data;
      const { id: registration, time } = event.meta;
      const registeredAt = doc.registered?.registeredAt ?? time;
      return { registered: { ...settings, registration, registeredAt }, versions: doc.versions };
    }
    case 'ApplicationRemoved':
      return { registered: null, versions: doc.versions };
    case 'ApplicationVersionAdded': {
      const { version, digest, appVersion } = event.data;
      const versions = [...withoutVersion(doc, version), { version, digest, appVersion }];
      return { ...doc, versions: versions.toSorted((one, other) => rcompare(one.version, other.version)) };
    }
    case 'ApplicationVersionRemoved':
      return { ...doc, versions: withoutVersion(doc, event.data.version) };
    case 'ApplicationSynchronized':
    case 'ApplicationNotSynchronized':
      return found(doc, event);
    default:
      return doc;
  }
};

/** One row per application. */
export const applicationsProjection: Projection<ApplicationDoc> = {
  name: 'applications',
  table: 'applications',
  keys: (event) => {
    switch (event.type) {
      case 'ApplicationRegistered':
      case 'ApplicationRemoved':
        return [event.data.name];
      case 'ApplicationVersionAdded':
      case 'ApplicationVersionRemoved':
      case 'ApplicationSynchronized':
      case 'ApplicationNotSynchronized':
        return [event.data.application];
      default:
        return [];
    }
  },
  evolve: (doc = NONE, event) => {
    const next = after(doc, event);
    return next.registered === null && next.versions.length === 0 ? undefined : next;
  },
};

interface VersionDoc extends ApplicationVersion {
  readonly schema: string | null;
  readonly uiSchema?: string;
}

export const versionKey = (application: string, version: string): string => `${application}/${version}`;

/** One row per version: schemas are large, and few readers want them. */
export const applicationVersionsProjection: Projection<VersionDoc> = {
  name: 'application-versions',
  table: 'application_versions',
  keys: (event) =>
    event.type === 'ApplicationVersionAdded' || event.type === 'ApplicationVersionRemoved'
      ? [versionKey(event.data.application, event.data.version)]
      : [],
  evolve: (_doc, event) => {
    if (event.type !== 'ApplicationVersionAdded') return undefined;
    const { version, digest, appVersion, schema, uiSchema } = event.data;
    return { version, digest, appVersion, schema, ...(uiSchema === undefined ? {} : { uiSchema }) };
  },
};

export const applicationView = (
  name: string,
  registered: Registration,
  { found: look, versions }: ApplicationDoc,
): ApplicationView => {
  const { repository, chart, range, keep, username, label, description, icon, registeredAt } = registered;
  return {
    kind: 'Application',
    name,
    ...{ repository, chart, range, keep, label, description, icon },
    ...(username === undefined ? {} : { username }),
    registeredTime: registeredAt,
    state: look === undefined ? 'Unknown' : look.problem === undefined ? 'Synchronized' : 'NotSynchronized',
    reason: look?.problem?.reason ?? '',
    message: look?.problem?.message ?? '',
    changedTime: look?.at ?? null,
    versions: [...versions],
  };
};
