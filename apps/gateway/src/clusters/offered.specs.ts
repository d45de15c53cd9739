import { CONTROL_PLANE_POOL, refuse, type NodeSet, type Refusal } from '@fairlead/contracts';
import type { MachineFields } from '@fairlead/domain';
import type { RegisteredConnectionDoc } from '../connections/connections.projection.js';

/** Machines that a request asks for, and how its API names their fields. */
export interface AskedMachines {
  readonly set: NodeSet;
  readonly fields: MachineFields;
}

/**
 * Specs that their connections are known not to offer. What was offered under settings that were replaced since says nothing; then, and
 * where nothing is known yet, infra-svc finds out by asking the provider.
 */
export const unknownSpecs = (
  connections: readonly RegisteredConnectionDoc[],
  sets: readonly AskedMachines[],
): readonly Refusal[] =>
  sets.flatMap(({ set: { connection, spec }, fields }) => {
    const doc = connections.find(({ name }) => name === connection);
    if (doc === undefined || !isCurrent(doc) || doc.offer?.specs.some(({ name }) => name === spec) !== false) return [];
    const { provider } = doc.registration;
    return [refuse('cluster.spec-unknown', { spec, connection, provider }, fields.spec)];
  });

/** Zones that their connections are known not to have, as for specs. A connection may be limited to one zone of its region. */
export const unknownZones = (
  connections: readonly RegisteredConnectionDoc[],
  sets: readonly AskedMachines[],
): readonly Refusal[] =>
  sets.flatMap(({ set: { connection, zones = [], pool = CONTROL_PLANE_POOL }, fields }) => {
    const doc = connections.find(({ name }) => name === connection);
    if (doc === undefined || doc.offer === null || !isCurrent(doc)) return [];
    const { zone: only } = doc.registration;
    const known = only === '' ? doc.offer.zones : [only];
    const zone = zones.find((name) => !known.includes(name));
    if (zone === undefined) return [];
    return [refuse('pool.zone-unknown', { connection, zone, pool, zones: known.join(', ') }, fields.zones)];
  });

const isCurrent = ({ registration, verifiedAt }: RegisteredConnectionDoc): boolean =>
  verifiedAt !== null && Date.parse(verifiedAt) >= Date.parse(registration.registeredAt);
