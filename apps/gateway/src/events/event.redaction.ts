import type { EventView, StoredEvent } from '@fairlead/contracts';
import { eventView } from './events.view.js';

/**
 * What belongs to a connection, wherever it stands in a fact: how its machines are reached, and where its keys are sealed. The tests hold this
 * list against the schema of every event.
 */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'ssh',
  'jump',
  'keyRef',
  'formerKeyRef',
  'former',
  'publicKey',
  'hostKey',
  'secretRef',
  'caRef',
  'credentialRef',
  'kubeconfigRef',
  'outputRef',
  'dataRef',
  'settings',
  'host',
  'hosts',
  'profile',
]);

/** Facts in which `host` is what users of the cluster reach: its API's address. */
const API_ADDRESS: ReadonlySet<string> = new Set<StoredEvent['type']>(['LoadBalancerReady']);

const without = (value: unknown, isKept: (field: string) => boolean): unknown => {
  if (Array.isArray(value)) return value.map((item) => without(item, isKept));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([field]) => isKept(field))
      .map(([field, inner]) => [field, without(inner, isKept)]),
  );
};

/** An event of a cluster for those who are not administrators of all namespaces. */
export const tenantEventView = (event: StoredEvent): EventView => {
  const view = eventView(event);
  const isKept = (field: string): boolean =>
    !CONNECTION_FIELDS.has(field) || (field === 'host' && API_ADDRESS.has(event.type));
  return { ...view, data: without(view.data, isKept) as EventView['data'] };
};
