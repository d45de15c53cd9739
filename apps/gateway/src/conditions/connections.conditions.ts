import type { ClusterLifeState } from '@fairlead/contracts';
import type { ConditionFacts, StepFacts } from './condition.facts.js';
import { found, holds, isNot, latestOf, type Read } from './condition.reading.js';

export const connectionsVerified: Read = ({ unverified, marks, createdAt }) => {
  const [first] = unverified;
  if (first === undefined) return holds(marks.accepted ?? createdAt);
  return found({
    status: 'False',
    reason: 'ConnectionUnverified',
    message: `connection ${first.name} could not be verified: ${first.problem}. Repair it, then run "fairlead connection verify ${first.name}"`,
    since: first.since,
    calls: 'Degraded',
  });
};

export const providerStep = ({ operations }: ConditionFacts): StepFacts | undefined =>
  operations.flatMap(({ steps }) => steps).find(({ ofProvider }) => ofProvider);

/** Statements of a replica that has ended are over by themselves. */
export const busyNow = ({ busy, now }: ConditionFacts): ConditionFacts['busy'] =>
  busy.filter(({ until }) => until > now);

const LIFE_OF: Readonly<Partial<Record<ConditionFacts['phase'], ClusterLifeState>>> = {
  Deleting: 'Deleting',
  Provisioned: 'Maintaining',
};

/** Of a cluster that is in a step of its provider: whether it waits for a place or has one, only the replica knows. */
export const waitingForConnection: Read = (facts) => {
  const [first] = busyNow(facts);
  const step = providerStep(facts);
  if (first === undefined || step === undefined) return isNot(facts.createdAt);
  const { name, tasks, places, since, takenSince } = first;
  const wait = `${tasks} task${tasks === 1 ? ' waits' : 's wait'} for one of the ${places} places of connection ${name}`;
  return found({
    status: 'True',
    reason: 'ConnectionBusy',
    message: `${wait}, and some have been taken since ${takenSince}: its provider answers slowly, or not at all. The step "${step.title}" of the cluster waits for a place or has one, and goes on by itself`,
    since: latestOf([since, step.startedAt], since),
    calls: LIFE_OF[facts.phase] ?? 'Provisioning',
  });
};
