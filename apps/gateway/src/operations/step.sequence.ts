import type { OperationKind } from '@fairlead/contracts';

/** What is done. A node that is replaced leaves after the new one has come, or before. */
export type StepSequence = Exclude<OperationKind, 'retry'> | 'replace-node-first';

export const kindOf = (course: StepSequence): Exclude<OperationKind, 'retry'> =>
  course === 'replace-node-first' ? 'replace-node' : course;
