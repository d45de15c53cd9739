import type { Fact, Refusal } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';

type AuditFact = Fact<'ApiTokenCreated' | 'ApiTokenRevoked' | 'KubeconfigRead' | 'ClusterQuarantineReleased'>;

/** Something that someone did, which has to be on record. */
export type Record = Command<'Record', AuditFact> & {
  /** Why it may not be done now. It does not concern what is on record already. */
  readonly fault?: Refusal | undefined;
};

/** Keeps a record. */
export const audit: Decider<null, Record, AuditFact> = {
  initial: null,
  decide: (_state, { data, fault }) => fault ?? [data],
  evolve: (state) => state,
};
