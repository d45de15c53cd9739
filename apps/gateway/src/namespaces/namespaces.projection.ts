import type { NamespaceView, Quota, StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { realmDocsAfter, type RealmDocs } from '../realms/realms.evolve.js';

export interface NamespaceDoc {
  readonly name: string;
  readonly description: string;
  readonly createdAt: string;
  /** The sequence of its NamespaceCreated, which distinguishes it from others of the same name. Rows of earlier releases have none. */
  readonly since?: number;
  /** Absent: none was set. */
  readonly quota?: Quota;
  /** When each was set last, by name; absent: there is none. */
  readonly hookSecrets?: Readonly<Record<string, string>>;
  /** Until when the value before the last is valid, by name; absent: there is none. */
  readonly oldHookSecrets?: Readonly<Record<string, string>>;
  /** When the sealed values of add-ons were set last, by name; absent: there are none. */
  readonly addonSecrets?: Readonly<Record<string, string>>;
  /** Its identity realms, by name; absent: there is none. */
  readonly realms?: RealmDocs;
}

const withRealms = (doc: NamespaceDoc, event: StoredEvent): NamespaceDoc => {
  const { realms: before = {} } = doc;
  const realms = realmDocsAfter(before, event);
  return realms === before ? doc : { ...doc, realms };
};

const without = (byName: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> => {
  const { [name]: _gone, ...others } = byName;
  return others;
};

const changed = (doc: NamespaceDoc, event: StoredEvent): NamespaceDoc => {
  const { hookSecrets = {}, oldHookSecrets = {}, addonSecrets = {} } = doc;
  const { type, data, meta } = event;
  switch (type) {
    case 'NamespaceQuotaSet':
      return { ...doc, quota: data.quota };
    case 'HookSecretSet':
      return {
        ...doc,
        hookSecrets: { ...hookSecrets, [data.secretName]: meta.time },
        oldHookSecrets: {
          ...without(oldHookSecrets, data.secretName),
          ...(data.oldValidUntil === undefined ? {} : { [data.secretName]: data.oldValidUntil }),
        },
      };
    case 'HookSecretDeleted':
      return {
        ...doc,
        hookSecrets: without(hookSecrets, data.secretName),
        oldHookSecrets: without(oldHookSecrets, data.secretName),
      };
    case 'AddonSecretSet':
      return { ...doc, addonSecrets: { ...addonSecrets, [data.secretName]: meta.time } };
    case 'AddonSecretDeleted':
      return { ...doc, addonSecrets: without(addonSecrets, data.secretName) };
    default:
      return withRealms(doc, event);
  }
};

export const namespacesProjection: Projection<NamespaceDoc> = {
  name: 'namespaces',
  table: 'namespaces',

  keys: (event) => {
    switch (event.type) {
      case 'NamespaceCreated':
      case 'NamespaceQuotaSet':
      case 'HookSecretSet':
      case 'HookSecretDeleted':
      case 'AddonSecretSet':
      case 'AddonSecretDeleted':
      case 'RealmRegistered':
      case 'RealmRemoved':
      case 'RealmReady':
      case 'RealmNotReady':
      case 'NamespaceDeleted':
        return [event.data.name];
      default:
        return [];
    }
  },

  evolve: (doc, event) => {
    if (event.type === 'NamespaceDeleted') return undefined;
    if (event.type === 'NamespaceCreated') {
      const { name, description } = event.data;
      return { name, description, createdAt: event.meta.time, since: event.meta.seq };
    }
    return doc && changed(doc, event);
  },
};

export const namespaceView = ({ name, description, createdAt, quota = {} }: NamespaceDoc): NamespaceView => ({
  name,
  kind: 'Namespace',
  description,
  quota,
  createdTime: createdAt,
});
