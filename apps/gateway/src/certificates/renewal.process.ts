import type { ClusterUid } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** Data of the job: certificates of this cluster end soon; the earliest of those that were reported, at this moment. */
export interface RenewCertificates {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly earliest: string;
  /** The warning's place in the log. */
  readonly seq: number;
}

/** Certificates that end may be renewed; whether that is desired here is checked when the job begins. */
export const renewalProcess: Process<Readonly<Record<string, never>>> = {
  name: 'certificate-renewal',
  version: 1,
  initial: {},
  evolve: (state) => state,
  react: (_, event) => {
    if (event.type !== 'CertificatesExpiring') return [];
    const { uid, earliest } = event.data;
    return [job('RenewCertificates', { uid, earliest, seq: event.meta.seq } satisfies RenewCertificates)];
  },
};
