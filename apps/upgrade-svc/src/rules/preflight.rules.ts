import type { Finding, NodeName, UpgradeTarget } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { refusing, when } from './finding.js';

/** What else is under way in the cluster, as the log tells. */
export interface UnderWay {
  /** Sentences: "demo-w-4 is joining", "another upgrade u-… runs". */
  readonly operations: readonly string[];
  readonly clusterReady: boolean;
}

/** B1: one operation at a time; upgrades and repairs never mix. */
export const b1OneOperation = ({ operations, clusterReady }: UnderWay): readonly Finding[] => [
  ...when(operations.length > 0, () =>
    refusing('B1', {
      sentence: `something else is under way: ${operations.join('; ')}`,
      facts: { operations },
      help: 'Wait until it has ended, or end it.',
    }),
  ),
  ...when(operations.length === 0 && !clusterReady, () =>
    refusing('B1', {
      sentence: 'the cluster is not Ready',
      facts: {},
      help: 'Bring it to Ready first ("fairlead cluster describe" tells what it waits for).',
    }),
  ),
];

/** B2 wants the cluster healthy so often in a row, ten seconds apart (kOps: --validate-count 2). */
export const HEALTHY_PASSES_MIN = 2;

/** B2: all nodes Ready or excused, all that runs for the cluster Ready, twice in a row. */
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
      refusing('B2', {
        sentence: `${sick.map(({ name, notReadyBecause }) => `${name} is not Ready (${notReadyBecause ?? 'no heartbeat'})`).join('; ')}`,
        facts: { nodes: sick.map(({ name }) => name) },
        help: 'Repair or remove them, or name them in strategy.excusedNodes.',
      }),
    ),
    ...when(unready.length > 0, () =>
      refusing('B2', {
        sentence: `not Ready: ${unready.join(', ')}`,
        facts: { unready },
        help: 'Repair what is not Ready in kube-system first.',
      }),
    ),
    ...when(sick.length + unready.length === 0 && facts.healthyPasses < HEALTHY_PASSES_MIN, () =>
      refusing('B2', {
        sentence: `the cluster was found healthy ${facts.healthyPasses} times in a row, not ${HEALTHY_PASSES_MIN}`,
        facts: { passes: facts.healthyPasses, passesMin: HEALTHY_PASSES_MIN },
        help: 'Something comes and goes; look at "fairlead events", and ask again.',
      }),
    ),
  ];
};

/** What could not be read is no good news: its rule refuses in the world's own words. */
export const unreadFindings = ({ unread }: ClusterFacts): readonly Finding[] =>
  unread.map(({ what, rule, message }) => ({
    rule,
    severity: 'refuse' as const,
    sentence: `${what} could not be read: ${message}`,
    facts: { what },
    help: 'Repair what keeps it from being read, and ask again.',
  }));

/** An upgrade asks for something. */
export const asksForNothing = ({ kubernetes, software, renewCertificates, reboot }: UpgradeTarget): boolean =>
  kubernetes === undefined && Object.keys(software ?? {}).length === 0 && !renewCertificates && !reboot;
