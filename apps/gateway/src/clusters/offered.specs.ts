import { refuse, type NodeSet, type Refusal } from '@fairlead/contracts';
import type { RegisteredConnectionDoc } from '../connections/connections.projection.js';

/**
 * Specs that their connections are known not to offer. What was offered under settings that were replaced since says nothing; then, and
 * where nothing is known yet, infra-svc finds out by asking the provider.
 */
export const unknownSpecs = (
  connections: readonly RegisteredConnectionDoc[],
  sets: readonly NodeSet[],
  field: string,
): readonly Refusal[] =>
  sets.flatMap(({ connection, spec }, index) => {
    const doc = connections.find(({ name }) => name === connection);
    if (doc === undefined || !isCurrent(doc) || doc.offer?.specs.some(({ name }) => name === spec) !== false) return [];
    const { provider } = doc.registration;
    return [refuse('cluster.spec-unknown', { spec, connection, provider }, `${field}[${index}].spec`)];
  });

const isCurrent = ({ registration, verifiedAt }: RegisteredConnectionDoc): boolean =>
  verifiedAt !== null && Date.parse(verifiedAt) >= Date.parse(registration.registeredAt);
