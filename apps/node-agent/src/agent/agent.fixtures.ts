import type { ClusterUid, NodeName, SoftwareVersions } from '@fairlead/contracts';
import { decide, evolve, NOTHING_REPORTED, type Observation, type Reported } from './agent.decider.js';
import { type AgentFact } from '../node/agent.facts.js';
import { type Difference } from '../node/difference.js';

/** Values for specs. */
export const uid = '11111111-1111-4111-8111-111111111111' as ClusterUid;
export const otherUid = '22222222-2222-4222-8222-222222222222' as ClusterUid;
export const node = 'demo-w-1-aaaaa' as NodeName;

export const at = (version: string): SoftwareVersions => ({ containerd: '1.7.24', kubelet: version });

export const difference: Difference = { item: 'packages', what: 'kubelet', observed: '1.34.4', desired: '1.34.5' };

export const KUBERNETES_READY = { ready: true, message: 'KubeletReady', kubeletVersion: 'v1.34.4' };
export const KUBERNETES_NOT_READY = { ...KUBERNETES_READY, ready: false, message: 'NodeStatusUnknown' };

/** A host that is in the desired state and has not joined. */
export const seen = (over: Partial<Observation> = {}): Observation => ({
  uid,
  node,
  desired: { revision: 1, software: at('1.34.4'), changesAllowed: true },
  differences: [],
  confirmed: true,
  software: at('1.34.4'),
  os: 'Debian',
  kernel: '6.1',
  bootId: 'boot-1',
  bootedAt: '2026-01-01T00:00:00.000Z',
  changed: [],
  failure: undefined,
  kubernetes: undefined,
  steady: true,
  ...over,
});

/** The reported state after the agent made these observations in order and stated every fact. */
export const reportedAfter = (...observations: readonly Observation[]): Reported =>
  observations.reduce((reported, observation) => sayAll(reported, observation).reported, NOTHING_REPORTED);

/** Decides until there is no further fact, as the shell does. */
export const sayAll = (
  reported: Reported,
  observation: Observation,
): { readonly reported: Reported; readonly facts: readonly AgentFact[] } => {
  const facts: AgentFact[] = [];
  for (let count = 0; count < 10; count += 1) {
    const more = decide(reported, observation);
    if (more.length === 0) return { reported, facts };
    facts.push(...more);
    reported = more.reduce(evolve, reported);
  }
  throw new Error(`never silent: ${JSON.stringify(facts)}`);
};
