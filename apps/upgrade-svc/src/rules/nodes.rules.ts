import type { Finding, NodeName } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { refusing, when } from './finding.js';

const CERTIFICATE_MARGIN_MS = 30 * 24 * 3_600_000;
const CLOCK_SKEW_MAX_MS = 1_000;

/** B8: no certificate ends before the plan can have ended, and 30 days more; a plan that renews them satisfies it. */
export const b8Certificates = (
  facts: ClusterFacts,
  endsAtMs: number,
  renewed: readonly NodeName[],
): readonly Finding[] =>
  facts.nodes.flatMap(({ name, certificates }) => {
    const early = (certificates ?? []).filter(
      (one) =>
        Date.parse(one.expiresAt) < endsAtMs + CERTIFICATE_MARGIN_MS &&
        (!renewed.includes(name) ||
          one.name === 'ca' ||
          one.name.endsWith('-ca') ||
          Date.parse(one.expiresAt) < endsAtMs),
    );
    return when(early.length > 0, () =>
      refusing('B8', {
        sentence: `certificates of ${name} end too soon: ${early.map((one) => `${one.name} ${one.expiresAt}`).join(', ')}`,
        facts: { node: name, certificates: early },
        help: 'Renew them first: "fairlead certificates renew".',
      }),
    );
  });

/** B8: clocks agree within a second, or certificates and leases are judged differently on each node. */
export const b8Clocks = ({ nodes }: ClusterFacts): readonly Finding[] =>
  nodes.flatMap(({ name, clockSkewMs }) =>
    when(clockSkewMs !== null && Math.abs(clockSkewMs) >= CLOCK_SKEW_MAX_MS, () =>
      refusing('B8', {
        sentence: `the clock of ${name} is ${Math.round(Math.abs(clockSkewMs ?? 0))} ms off`,
        facts: { node: name, clockSkewMs, clockSkewMaxMs: CLOCK_SKEW_MAX_MS },
        help: 'Let it take its time from the same server as the others (chrony, systemd-timesyncd).',
      }),
    ),
  );

/** B9: room for images and data. */
export const b9Room = ({ nodes }: ClusterFacts, changed: readonly NodeName[]): readonly Finding[] =>
  nodes
    .filter(({ name }) => changed.includes(name))
    .flatMap(({ name, disk }) =>
      when(disk !== null && disk.freeBytes < disk.neededBytes, () =>
        refusing('B9', {
          sentence: `${name} has too little room on its disk`,
          facts: { node: name, ...disk },
          help: 'Remove what it no longer needs (crictl rmi --prune), or give it a larger disk.',
        }),
      ),
    );

/** B9: the source of files answers each node itself, and has what the plan brings there (by node, Kubernetes versions with v). */
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
      ...when(failure !== null, () =>
        refusing('B9', {
          sentence: `${name} does not reach its source ${address}: ${String(failure)}`,
          facts: { node: name, address, failure, lookedAt: at },
          help: 'Look at its routes, proxy and name servers, and at the source; the node looks again every minute.',
        }),
      ),
      ...when(missing.length > 0, () =>
        refusing('B9', {
          sentence: `the source of ${name}, ${address}, has no ${missing.join(', ')}`,
          facts: { node: name, address, missing, releases, lookedAt: at },
          help: 'Add it to the source, or ask for a version that it has; the node looks again within a quarter of an hour.',
        }),
      ),
    ];
  });
