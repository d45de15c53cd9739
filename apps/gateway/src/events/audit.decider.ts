import type { Fact } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';

type AuditFact = Fact<'ApiTokenCreated' | 'ApiTokenRevoked' | 'KubeconfigRead' | 'ParkedClusterReleased'>;

/** Something that somebody did, which has to be on record. */
export type Record = Command<'Record', AuditFact>;

/** Keeps a record; it never says no. */
export const audit: Decider<null, Record, AuditFact> = {
  initial: null,
  decide: (_state, { data }) => [data],
  evolve: (state) => state,
};
