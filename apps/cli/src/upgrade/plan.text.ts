import type { UpgradeView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';
import { optional, prose, tableText } from '../output/table.js';
import { hanging, wrappedLines } from '../output/wrap.js';

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

/** Of operations on no node. */
export const TITLES: Readonly<Record<string, string>> = {
  'snapshot-etcd': 'Snapshot of etcd',
  stage: 'Stage the software',
  replace: 'Replace the nodes',
  addons: 'Addons',
  'book-surge': 'Add surge nodes',
  'mark-workers': 'Mark the workers',
  'return-surge': 'Remove surge nodes',
};

const operationRow = (operation: Operation): readonly string[] => [
  String(operation.batch),
  operation.node ?? TITLES[operation.kind] ?? operation.kind,
  operation.pool ?? nodesOf(operation),
  operation.node === null ? '' : operation.drain ? 'yes' : 'no',
  predicted(operation.predictedSeconds),
  operation.reason,
];

const operationsText = ({ operations }: Plan, columns: number): readonly string[] => {
  const table = {
    columns: ['batch', 'node or step', optional('pool', 1), 'drain', 'predicted', prose('why')],
    rows: operations.map(operationRow),
    empty: 'Nothing to do.',
  };
  return tableText(table, columns).split('\n');
};

/** What changes, once for the nodes of a pool that it is equal for: node by node it would be the same sentence. */
const changesText = ({ operations }: Plan, columns: number): readonly string[] => {
  const rows = new Map<
    string,
    { readonly first: number; last: number; readonly pool: string; readonly change: string }
  >();
  for (const operation of operations) {
    const { batch } = operation;
    const [pool, change] = [operation.pool ?? '', changeOf(operation)];
    if (change === '') continue;
    const row = rows.get(`${pool} ${change}`);
    if (row === undefined) rows.set(`${pool} ${change}`, { first: batch, last: batch, pool, change });
    else row.last = Math.max(row.last, batch);
  }
  if (rows.size === 0) return [];
  const table = {
    columns: ['batches', 'pool', prose('change')],
    rows: [...rows.values()].map(({ first, last, pool, change }) => [
      first === last ? String(first) : `${first}-${last}`,
      pool,
      change,
    ]),
    empty: '',
  };
  return tableText(table, columns).split('\n');
};

const SEVERITIES = { refuse: '✘', ask: '▲', inform: '●' } as const;

/** Each finding with its rule and its facts in the sentence; what to do about it follows once, after the last that it is for. */
const findingsText = (findings: readonly Finding[], columns: number): readonly string[] =>
  findings.flatMap(({ severity, rule, sentence, help }, index) =>
    [
      `${SEVERITIES[severity]} ${rule}  ${sentence}`,
      ...(help === '' || findings[index + 1]?.help === help ? [] : [`${' '.repeat(HELP_INDENT)}${help}`]),
    ].flatMap((line) => hanging(line, columns, HELP_INDENT)),
  );

const HELP_INDENT = 6;

const poolsText = ({ pools }: Plan): readonly string[] =>
  pools.map(
    ({ name, nodes, atOnce, surge }) =>
      `Pool ${name}: ${atOnce} at a time of ${nodes}${surge === 0 ? '' : `, with ${surge} extra`}`,
  );

const left = (words: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${words}: ${names.join(', ')}`];

/** The plan as people read it before they approve it. */
export const planText = (upgrade: UpgradeView, columns: number): string => {
  const { plan, planHash, findings } = upgrade;
  if (plan === null) {
    const why = findings.length === 0 ? `: ${upgrade.message}` : `, ${counted(findings.length, 'finding')}:`;
    return [...wrappedLines([`${upgrade.phase}${why}`], columns), '', ...findingsText(findings, columns)].join('\n');
  }
  const batches = new Set(plan.operations.map(({ batch }) => batch)).size;
  const sections: readonly (readonly string[])[] = [
    wrappedLines(
      [
        `Plan ${upgrade.id} of ${upgrade.namespace}/${upgrade.cluster}: ${targetText(upgrade)}`,
        `${counted(plan.operations.length, 'operation')} in ${batches} ${batches === 1 ? 'batch' : 'batches'}, about ${predicted(plan.predictedSeconds)}`,
        `Hash ${planHash ?? ''}`,
      ],
      columns,
    ),
    operationsText(plan, columns),
    changesText(plan, columns),
    wrappedLines([...poolsText(plan), ...left('On hold', plan.held), ...left('Done already', plan.current)], columns),
    findingsText(findings, columns),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
};
