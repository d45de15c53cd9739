import { without, type RealmProblem, type RealmSettings, type RealmView, type StoredEvent } from '@fairlead/contracts';

/** What is shown of a realm. */
export interface RealmDoc extends RealmSettings {
  /** The event that registered it last. */
  readonly registration: string;
  readonly registeredAt: string;
  /** How it was found since then; absent: it was not looked at yet. */
  readonly found?: {
    readonly at: string;
    /** Absent: it is ready. */
    readonly problem?: { readonly reason: RealmProblem; readonly message: string };
  };
}

export type RealmDocs = Readonly<Record<string, RealmDoc>>;

const found = (realms: RealmDocs, event: StoredEvent<'RealmReady' | 'RealmNotReady'>): RealmDocs => {
  const { realm, registration } = event.data;
  const doc = realms[realm];
  // A look at a realm that was registered again meanwhile says nothing about it.
  if (doc?.registration !== registration) return realms;
  const problem =
    event.type === 'RealmReady' ? {} : { problem: { reason: event.data.reason, message: event.data.message } };
  return { ...realms, [realm]: { ...doc, found: { at: event.meta.time, ...problem } } };
};

export const realmDocsAfter = (realms: RealmDocs, event: StoredEvent): RealmDocs => {
  switch (event.type) {
    case 'RealmRegistered': {
      const { name: _namespace, realm, secretRef: _secret, ...settings } = event.data;
      const { id: registration, time } = event.meta;
      const registeredAt = realms[realm]?.registeredAt ?? time;
      return { ...realms, [realm]: { ...settings, registration, registeredAt } };
    }
    case 'RealmRemoved':
      return without(realms, event.data.realm);
    case 'RealmReady':
    case 'RealmNotReady':
      return found(realms, event);
    default:
      return realms;
  }
};

export const realmView = (
  address: { readonly namespace: string; readonly name: string },
  { registration: _registration, registeredAt, found: look, ...settings }: RealmDoc,
  clusters: readonly string[],
): RealmView => ({
  kind: 'Realm',
  ...address,
  ...settings,
  registeredTime: registeredAt,
  state: look === undefined ? 'Unknown' : look.problem === undefined ? 'Ready' : 'NotReady',
  reason: look?.problem?.reason ?? '',
  message: look?.problem?.message ?? '',
  changedTime: look?.at ?? null,
  clusters: [...clusters],
});
