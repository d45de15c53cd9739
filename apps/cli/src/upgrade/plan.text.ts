import type { UpgradeView } from '../api/api.ports.js';
import { formatDuration } from '../output/duration.js';
import { tableText } from '../output/table.js';

type Finding = UpgradeView['findings'][number];
type Plan = NonNullable<UpgradeView['plan']>;
type Operation = Plan['operations'][number];

const MS_PER_SECOND = 1_000;
const predicted = (seconds: number): string => formatDuration(seconds * MS_PER_SECOND);

/** What changes, in a few words: `v1.34.4 -> v1.35.4, new certificates`. */
export const targetText = ({
  target,
  plan,
}: Pick<UpgradeView, 'target'> & { readonly plan?: UpgradeView['plan'] }): string => {
  const path = plan?.path ?? [];
  const kubernetes =
    target.kubernetes === undefined ? undefined : path.length > 1 ? path.join(' -> ') : `to ${target.kubernetes}`;
  return [
    ...(kubernetes === undefined ? [] : [`Kubernetes ${kubernetes}`]),
    ...Object.entries(target.software ?? {}).map(([name, version]) => `${name} ${version}`),
    ...(target.renewCertificates ? ['new certificates'] : []),
    ...(target.reboot ? ['a reboot of every node'] : []),
  ].join(', ');
};

const changeOf = ({ from, to, change }: Operation): string =>
  [
    ...Object.entries(to).map(([name, version]) =>
      from[name] === undefined ? `${name} ${version}` : `${name} ${from[name]} -> ${version}`,
    ),
    ...(change === null || change.emulatedVersion === null ? [] : [`behaving as ${change.emulatedVersion}`]),
    ...(change?.renewCertificates === true ? ['new certificates'] : []),
    ...(change?.reboot === true ? ['a boot'] : []),
  ].join(', ');

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const nodesOf = ({ node, nodes }: Operation): string => node ?? (nodes.length > 0 ? counted(nodes.length, 'node') : '');

const operationRow = (operation: Operation): readonly string[] => [
  String(operation.batch),
  operation.kind,
  nodesOf(operation),
  operation.pool ?? '',
  changeOf(operation),
  operation.node === null ? '' : operation.drain ? 'yes' : 'no',
  predicted(operation.predictedSeconds),
  operation.reason,
];

const SEVERITIES = { refuse: '✘', ask: '▲', inform: '●' } as const;

/** Each finding with its rule and its facts in the sentence; what to do about it follows once, after the last that it is for. */
const findingsText = (findings: readonly Finding[]): readonly string[] =>
  findings.flatMap(({ severity, rule, sentence, help }, index) => [
    `${SEVERITIES[severity]} ${rule}  ${sentence}`,
    ...(help === '' || findings[index + 1]?.help === help ? [] : [`       ${help}`]),
  ]);

const poolsText = ({ pools }: Plan): readonly string[] =>
  pools.map(
    ({ name, nodes, atOnce, surge }) =>
      `Pool ${name}: ${atOnce} at a time of ${nodes}${surge === 0 ? '' : `, with ${surge} extra`}`,
  );

const left = (words: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${words}: ${names.join(', ')}`];

/** The plan as people read it before they approve it. */
export const planText = (upgrade: UpgradeView): string => {
  const { plan, planHash, findings } = upgrade;
  if (plan === null) {
    const why = findings.length === 0 ? `: ${upgrade.message}` : `, ${counted(findings.length, 'finding')}:`;
    return [`${upgrade.phase}${why}`, '', ...findingsText(findings)].join('\n');
  }
  const batches = new Set(plan.operations.map(({ batch }) => batch)).size;
  const operations = tableText({
    columns: ['batch', 'operation', 'node', 'pool', 'change', 'drain', 'predicted', 'why'],
    rows: plan.operations.map(operationRow),
    empty: 'Nothing to do.',
  });
  const sections: readonly (readonly string[])[] = [
    [
      `Plan ${upgrade.id} of ${upgrade.namespace}/${upgrade.cluster}: ${targetText(upgrade)}`,
      `${counted(plan.operations.length, 'operation')} in ${batches} ${batches === 1 ? 'batch' : 'batches'}, about ${predicted(plan.predictedSeconds)}`,
      `Hash ${planHash ?? ''}`,
    ],
    [operations],
    [...poolsText(plan), ...left('On hold', plan.held), ...left('Done already', plan.current)],
    findingsText(findings),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
};
