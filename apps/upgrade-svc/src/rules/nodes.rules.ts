import {
  endedOf,
  isAuthority,
  isOfKubelet,
  type EndingCertificate,
  type Finding,
  type NodeName,
} from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';

const CERTIFICATE_MARGIN_MS = 30 * 24 * 3_600_000;
const CLOCK_SKEW_MAX_MS = 1_000;

const endsOf = (certificates: readonly EndingCertificate[]): string =>
  certificates.map((one) => `${one.name} ${one.expiresAt}`).join(', ');

/**
 * B8: no certificate but those that kubelets renew themselves ends before the plan can have ended, and 30 days more; a plan that renews them
 * satisfies it. None renews authorities, and certificates that end before them are renewed all the same.
 */
export const b8Certificates = (
  facts: ClusterFacts,
  endsAtMs: number,
  { renewed, isRenewal }: { readonly renewed: readonly NodeName[]; readonly isRenewal: boolean },
): readonly Finding[] =>
  facts.nodes.flatMap(({ name, certificates }) => {
    const early = (certificates ?? []).filter(
      (one) => !isOfKubelet(one) && Date.parse(one.expiresAt) < endsAtMs + CERTIFICATE_MARGIN_MS,
    );
    const renewable = early.filter(
      (one) =>
        !isAuthority(one) &&
        // A renewal needs no other renewal first: those that end before their turn were renewed before it was planned.
        (!renewed.includes(name) || (!isRenewal && Date.parse(one.expiresAt) < endsAtMs)),
    );
    const authorities = isRenewal ? [] : early.filter(isAuthority);
    return [
      ...when(renewable.length > 0, () =>
        finding('B8.certificates', { node: name, certificates: renewable }, { expiring: endsOf(renewable) }),
      ),
      ...when(authorities.length > 0, () =>
        finding('B8.authority', { node: name, certificates: authorities }, { expiring: endsOf(authorities) }),
      ),
    ];
  });

/** B8: no certificate has expired; kubelet certificates are checked per node. */
export const b8Ended = (facts: ClusterFacts): readonly Finding[] =>
  facts.nodes.flatMap(({ name, certificates }) => {
    const ended = endedOf(certificates ?? [], facts.at);
    return when(ended.length > 0, () =>
      finding('B8.ended', { node: name, certificates: ended }, { ended: endsOf(ended) }),
    );
  });

/** B8: clocks differ by less than a second, otherwise certificates and leases are judged differently on each node. */
export const b8Clocks = ({ nodes }: ClusterFacts): readonly Finding[] =>
  nodes.flatMap(({ name, clockSkewMs }) =>
    when(clockSkewMs !== null && Math.abs(clockSkewMs) >= CLOCK_SKEW_MAX_MS, () =>
      finding(
        'B8.clock',
        { node: name, clockSkewMs, clockSkewMaxMs: CLOCK_SKEW_MAX_MS },
        { skewMs: Math.round(Math.abs(clockSkewMs ?? 0)) },
      ),
    ),
  );

const mib = (bytes = 0): number => Math.floor(bytes / 1024 ** 2);

/** B9: free space for images and data. */
export const b9Room = ({ nodes }: ClusterFacts, changed: readonly NodeName[]): readonly Finding[] =>
  nodes
    .filter(({ name }) => changed.includes(name))
    .flatMap(({ name, disk }) =>
      when(disk !== null && disk.freeBytes < disk.neededBytes, () =>
        finding(
          'B9.disk',
          { node: name, ...disk },
          { freeMiB: mib(disk?.freeBytes), neededMiB: mib(disk?.neededBytes) },
        ),
      ),
    );

/**
 * B9: every node reaches its source of files, and the source has the versions that the plan installs there (by node,
 * Kubernetes versions with v).
 */
export const b9Source = (
  { nodes }: ClusterFacts,
  brought: ReadonlyMap<NodeName, readonly string[]>,
): readonly Finding[] =>
  nodes.flatMap(({ name, source }) => {
    const versions = brought.get(name);
    if (versions === undefined || source === null) return [];
    const { address, failure, releases, at } = source;
    const missing = releases === null ? [] : versions.filter((version) => !releases.includes(version));
    return [
      ...when(failure !== null, () => finding('B9.unreachable', { node: name, address, failure, lookedAt: at })),
      ...when(missing.length > 0, () =>
        finding('B9.missing', { node: name, address, missing, releases, lookedAt: at }),
      ),
    ];
  });
