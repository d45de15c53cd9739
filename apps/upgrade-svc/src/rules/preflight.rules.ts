import type { Finding, NodeName, UpgradeTarget } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding, unreadFinding, when } from './finding.js';

/** Other operations in progress, according to the log. */
export interface UnderWay {
  /** Sentences: "demo-w-4 is joining", "another upgrade u-… runs". */
  readonly operations: readonly string[];
  readonly clusterReady: boolean;
}

/** B1: one operation at a time; upgrades and repairs never overlap. */
export const b1OneOperation = ({ operations, clusterReady }: UnderWay): readonly Finding[] => [
  ...when(operations.length > 0, () => finding('B1.in-progress', { operations }, { what: operations.join('; ') })),
  ...when(operations.length === 0 && !clusterReady, () => finding('B1.not-ready', {})),
];

/** The number of healthy checks in a row that B2 requires, ten seconds apart (kOps: --validate-count 2). */
export const HEALTHY_PASSES_MIN = 2;

/** B2: all nodes Ready or excused and all system workloads Ready, twice in a row. */
export const b2ClusterHealthy = (
  facts: Pick<ClusterFacts, 'nodes' | 'system' | 'healthyPasses'>,
  excused: readonly NodeName[],
): readonly Finding[] => {
  const sick = facts.nodes.filter((node) => (!node.ready || node.lost) && !excused.includes(node.name));
  const pods = facts.nodes.flatMap((node) =>
    node.staticPods.filter(({ ready }) => !ready).map(({ component }) => `${component} of ${node.name}`),
  );
  const systems = facts.system.filter(({ desired, ready }) => ready < desired).map(({ name }) => name);
  const unready = [...pods, ...systems];
  return [
    ...when(sick.length > 0, () =>
      finding(
        'B2.nodes',
        { nodes: sick.map(({ name }) => name) },
        {
          reasons: sick.map(({ name, notReadyBecause }) => `${name} (${notReadyBecause ?? 'no heartbeat'})`).join(', '),
        },
      ),
    ),
    ...when(unready.length > 0, () => finding('B2.system', { unready })),
    ...when(sick.length + unready.length === 0 && facts.healthyPasses < HEALTHY_PASSES_MIN, () =>
      finding('B2.unstable', { passes: facts.healthyPasses, passesMin: HEALTHY_PASSES_MIN }),
    ),
  ];
};

/** An unreadable field does not count as healthy: the rule that needs it rejects the upgrade. */
export const unreadFindings = ({ unread }: ClusterFacts): readonly Finding[] =>
  unread.map(({ what, rule, message }) => unreadFinding(rule, what, message));

/** Whether the request changes nothing. */
export const asksForNothing = ({ kubernetes, software, renewCertificates, reboot }: UpgradeTarget): boolean =>
  kubernetes === undefined && Object.keys(software ?? {}).length === 0 && !renewCertificates && !reboot;
