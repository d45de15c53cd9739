import type { NamespaceView } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';

export interface NamespaceDoc {
  readonly name: string;
  readonly description: string;
  readonly createdAt: string;
}

export const namespacesProjection: Projection<NamespaceDoc> = {
  name: 'namespaces',
  table: 'namespaces',

  keys: (event) => (event.type === 'NamespaceCreated' || event.type === 'NamespaceDeleted' ? [event.data.name] : []),

  evolve: (doc, event) => {
    if (event.type === 'NamespaceDeleted') return undefined;
    if (event.type !== 'NamespaceCreated') return doc;
    return { name: event.data.name, description: event.data.description, createdAt: event.meta.time };
  },
};

export const namespaceView = ({ name, description, createdAt }: NamespaceDoc): NamespaceView => ({
  name,
  kind: 'Namespace',
  description,
  createdTime: createdAt,
});
