import { refuse, type Fact, type Namespace, type Quota } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';
import { shownNames } from '../common/names.js';

export type CreateNamespace = Command<'CreateNamespace', { readonly name: Namespace; readonly description: string }>;
/** `clusters`: the names that the namespace still holds. */
export type DeleteNamespace = Command<
  'DeleteNamespace',
  { readonly name: Namespace; readonly clusters: readonly string[] }
>;

export type SetQuota = Command<'SetQuota', { readonly name: Namespace; readonly quota: Quota }>;

export type NamespaceState = 'absent' | 'present';

/** A namespace comes and goes; it goes only when it is empty. */
export const namespaces: Decider<
  NamespaceState,
  CreateNamespace | SetQuota | DeleteNamespace,
  Fact<'NamespaceCreated' | 'NamespaceQuotaSet' | 'NamespaceDeleted'>
> = {
  initial: 'absent',

  decide: (state, command) => {
    const { name } = command.data;
    switch (command.type) {
      case 'CreateNamespace':
        if (state === 'present') return refuse('namespace.exists', { namespace: name }, 'name');
        return [{ type: 'NamespaceCreated', data: { name, description: command.data.description } }];
      case 'SetQuota':
        if (state === 'absent') return refuse('namespace.unknown', { namespace: name });
        return [{ type: 'NamespaceQuotaSet', data: { name, quota: command.data.quota } }];
      case 'DeleteNamespace': {
        const { clusters } = command.data;
        if (state === 'absent') return refuse('namespace.unknown', { namespace: name });
        if (clusters.length > 0)
          return refuse('namespace.not-empty', { namespace: name, clusters: shownNames(clusters) });
        return [{ type: 'NamespaceDeleted', data: { name } }];
      }
    }
  },

  evolve: (state, event) => {
    if (event.type === 'NamespaceCreated') return 'present';
    return event.type === 'NamespaceDeleted' ? 'absent' : state;
  },
};
