import type { ClusterUid, NodeName } from '@fairlead/contracts';
import { cancelTimer, job, timer, type Process, type Reaction } from '@fairlead/event-sourcing';
import { certificates, warnAt, type Certificates } from './certificates.decider.js';

/** Data of the job: certificates of this node may have to be warned of. */
export interface LookAtNode {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly node: NodeName;
}

const keyOf = (node: string): string => `certificates/${node}`;

/** A timer for each control plane, at the day from which its certificates must be told of. */
export const certificatesProcess: Process<Certificates> = {
  name: 'certificates',
  version: 1,
  initial: certificates.initial,

  evolve: (state, event) => {
    const after = certificates.evolve(state, event);
    return event.type === 'ClusterDeleted' ? undefined : after;
  },

  react: (state, event): readonly Reaction[] => {
    if (event.type === 'VmDeleted') return [cancelTimer(keyOf(event.data.name))];
    if (event.type !== 'CertificatesReported') return [];
    const { node } = event.data;
    const dueAt = warnAt(state, node);
    return dueAt === undefined ? [cancelTimer(keyOf(node))] : [timer(keyOf(node), dueAt, { node })];
  },

  due: ({ uid }, { data }) =>
    uid === null ? [] : [job('LookAtCertificates', { uid, node: data['node'] as NodeName } satisfies LookAtNode)],
};
