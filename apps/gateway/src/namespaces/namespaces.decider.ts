import { refuse, withQuotaChange, type Fact, type Namespace, type Quota, type QuotaChange } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { sameJson } from '../common/json.js';
import { shownNames } from '../common/names.js';

export type CreateNamespace = Command<'CreateNamespace', { readonly name: Namespace; readonly description: string }>;
/** `clusters`: the names that the namespace still holds. */
export type DeleteNamespace = Command<
  'DeleteNamespace',
  { readonly name: Namespace; readonly clusters: readonly string[] }
>;

export type SetQuota = Command<'SetQuota', { readonly name: Namespace; readonly quota: Quota }>;

/** What is left out of it stays. */
export type ChangeQuota = Command<'ChangeQuota', { readonly name: Namespace; readonly change: QuotaChange }>;

/** Undefined: there is no such namespace. */
export type NamespaceState = { readonly quota: Quota } | undefined;

/** A namespace comes and goes; it goes only when it is empty. */
export const namespaces: Decider<
  NamespaceState,
  CreateNamespace | SetQuota | ChangeQuota | DeleteNamespace,
  Fact<'NamespaceCreated' | 'NamespaceQuotaSet' | 'NamespaceDeleted'>
> = {
  initial: undefined,

  decide: (state, command) => {
    const { name } = command.data;
    switch (command.type) {
      case 'CreateNamespace':
        if (state !== undefined) return refuse('namespace.exists', { namespace: name }, 'name');
        return [{ type: 'NamespaceCreated', data: { name, description: command.data.description } }];
      case 'SetQuota':
        if (state === undefined) return refuse('namespace.unknown', { namespace: name });
        return [{ type: 'NamespaceQuotaSet', data: { name, quota: command.data.quota } }];
      case 'ChangeQuota': {
        if (state === undefined) return refuse('namespace.unknown', { namespace: name });
        const quota = withQuotaChange(state.quota, command.data.change);
        return sameJson(quota, state.quota) ? nothing : [{ type: 'NamespaceQuotaSet', data: { name, quota } }];
      }
      case 'DeleteNamespace': {
        const { clusters } = command.data;
        if (state === undefined) return refuse('namespace.unknown', { namespace: name });
        if (clusters.length > 0)
          return refuse('namespace.not-empty', { namespace: name, clusters: shownNames(clusters) });
        return [{ type: 'NamespaceDeleted', data: { name } }];
      }
    }
  },

  evolve: (state, event) => {
    switch (event.type) {
      case 'NamespaceCreated':
        return { quota: {} };
      case 'NamespaceQuotaSet':
        return { quota: event.data.quota };
      case 'NamespaceDeleted':
        return undefined;
      default:
        return state;
    }
  },
};
