import type { NamespaceView, Quota } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

export interface NamespaceDoc {
  readonly name: string;
  readonly description: string;
  readonly createdAt: string;
  /** The sequence of its NamespaceCreated, which distinguishes it from others of the same name. Rows of earlier releases have none. */
  readonly since?: number;
  /** Absent: none was set. */
  readonly quota?: Quota;
}

export const namespacesProjection: Projection<NamespaceDoc> = {
  name: 'namespaces',
  table: 'namespaces',

  keys: (event) => {
    switch (event.type) {
      case 'NamespaceCreated':
      case 'NamespaceQuotaSet':
      case 'NamespaceDeleted':
        return [event.data.name];
      default:
        return [];
    }
  },

  evolve: (doc, event) => {
    if (event.type === 'NamespaceDeleted') return undefined;
    if (event.type === 'NamespaceQuotaSet') return doc === undefined ? undefined : { ...doc, quota: event.data.quota };
    if (event.type !== 'NamespaceCreated') return doc;
    const { name, description } = event.data;
    return { name, description, createdAt: event.meta.time, since: event.meta.seq };
  },
};

export const namespaceView = ({ name, description, createdAt, quota = {} }: NamespaceDoc): NamespaceView => ({
  name,
  kind: 'Namespace',
  description,
  quota,
  createdTime: createdAt,
});
