// docs/upgrades.md: how an upgrade proceeds, and every rule, gate and reason that an operator may meet, from the
// catalogues in libs/contracts.
import {
  GATES,
  HALTS,
  OPEN_UPGRADE_STATES,
  OPERATION_FAILURES,
  PAUSE_REASONS,
  PLAN_OPERATION_KINDS,
  POSTPONE_REASONS,
  REFUSALS,
  SKIP_REASONS,
  UNREAD_FINDING,
  UPGRADE_FINDINGS,
  UPGRADE_PHASES,
  UPGRADE_RULES,
  USER_GATE,
} from '../../libs/contracts/dist/index.js';

const cell = (text) =>
  String(text)
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll(/"((?:fairlead|kubectl|etcdctl|etcdutl|crictl) [^"]*)"/g, '`$1`')
    .replaceAll(/(?<!`[^`]*)<(\w+)>(?![^`]*`)/g, '&lt;$1&gt;');
const sentenceCell = (text) => cell(text).replaceAll(/\{(\w+)\}/g, '_$1_');

const table = (head, rows) => [
  `| ${head.join(' | ')} |`,
  `|${head.map(() => '---').join('|')}|`,
  ...rows.map((row) => `| ${row.join(' | ')} |`),
  '',
];

const GROUPS = {
  A: [
    'Version skew',
    'The plan keeps these rules, and they are checked again before each node: a node that would break one fails.',
  ],
  B: ['Before the upgrade', 'They are checked when the plan is made. Nothing is touched before all of them hold.'],
  C: [
    'Control planes',
    'The plan is made so that these rules hold; gates check them before and after each control plane.',
  ],
  D: ['Workers', 'They bound how many workers are away, and what happens to their pods.'],
  E: ['When a rollout stops', 'They keep a failure from spreading. See [halts](#halts) for what to do.'],
  F: [
    'Certificates',
    'Renewing certificates is an upgrade that changes no version. Those that have ended are renewed through the agents, without the API and before the plan ([ADR 92](adr/0092-expired-certificates-are-renewed-before-a-renewal-is-planned.md)).',
  ],
  G: ['Recovery', 'They say how to continue after a failure.'],
};

const OPERATIONS = {
  stage:
    'Packages and images are brought to every node and verified; nothing changes yet. Control planes stage one after the other, the leader of etcd last, beside the workers: importing images slows the disks of etcd. After 30 minutes in which no node has got all of them, it fails.',
  'snapshot-etcd': 'A snapshot of etcd is taken and kept off the node.',
  'control-plane': 'One control plane is drained and upgraded, the leader of etcd last.',
  replace:
    'Nodes of a pool with `strategy: Replace`, or the control planes, are replaced by new nodes of the version, within the limits of `rollout`.',
  addons: 'CoreDNS and kube-proxy have rolled out.',
  'book-surge': 'The surge nodes of a pool are created and join (with `--max-surge`).',
  'mark-workers': 'Workers that are still to change get a soft taint, so that evicted pods avoid them.',
  worker: 'One worker is drained, upgraded and seen Ready; the canary of its pool first.',
  'return-surge': 'The surge nodes of a pool are drained and deleted.',
};

const STATES = `stateDiagram-v2
  [*] --> Planning: fairlead upgrade start
  Planning --> Rejected: a rule refuses
  Planning --> Planned
  Planning --> Waiting: a finding holds a declared version, or --wait-for-checks
  Waiting --> Planned: none is left
  Waiting --> Aborted: abort, or another version is declared
  Planned --> Approved: approve
  Approved --> Running
  Running --> Paused: pause, a window closes, a probe or a gate
  Paused --> Running: resume, or by itself
  Running --> Halted: a rule stops it
  Halted --> Running: retry, rollback or resume
  Running --> Aborting: abort
  Paused --> Aborting: abort
  Halted --> Aborting: abort
  Planned --> Aborted: abort
  Aborting --> Aborted
  Running --> Completed
  Rejected --> [*]
  Aborted --> [*]
  Completed --> [*]`;

/** Throws if the page does not mention one of the kinds or phases. */
const assertNamed = (what, names, text) => {
  const missing = names.filter((name) => !text.includes(name));
  if (missing.length > 0) throw new Error(`tools/generate/upgrades.mjs names no ${what} ${missing.join(', ')}`);
};

const EFFECTS = {
  refuse: 'The upgrade is rejected, or waits',
  ask: 'The plan waits for approval',
  inform: 'The plan shows it',
};
const effectOf = ({ severity, when, permanent }) => {
  if (permanent) return 'The upgrade is rejected';
  if (when === 'request') return 'The request is refused';
  return when === 'node' ? 'The node does not begin' : EFFECTS[severity];
};

const codesOf = (catalogue, rule) => Object.keys(catalogue).filter((code) => catalogue[code].rule === rule);
const findingsOf = (rule) => Object.entries(UPGRADE_FINDINGS).filter(([code]) => code.startsWith(`${rule}.`));

/** An override only has an effect where the rule rejects a plan, halts a rollout or holds nodes back. */
const overrideMatters = (rule) =>
  UPGRADE_RULES[rule].overridable &&
  (HALTS[rule] !== undefined ||
    rule === USER_GATE.rule ||
    findingsOf(rule).some(([, { when, severity }]) => when === 'plan' && severity === 'refuse'));

const alsoOf = (rule) => [
  ...codesOf(GATES, rule).map((gate) => `the gate [\`${gate}\`](#gates)`),
  ...(rule === USER_GATE.rule ? ['[user gates](#gates)'] : []),
  ...codesOf(PAUSE_REASONS, rule)
    .map(() => 'a [pause](#pauses)')
    .slice(0, 1),
  ...codesOf(OPERATION_FAILURES, rule)
    .map(() => 'a [failure](#failures)')
    .slice(0, 1),
  ...(HALTS[rule] === undefined ? [] : ['a [halt](#halts)']),
];

const ruleSection = (rule) => {
  const { title } = UPGRADE_RULES[rule];
  const findings = findingsOf(rule);
  const also = alsoOf(rule);
  const enforced = also.length === 0 ? [] : [`Enforced by ${also.join(', ')}.`, ''];
  return [
    `#### ${rule}: ${title}`,
    '',
    ...(overrideMatters(rule) ? ['An operator can [override](#overrides) it.', ''] : []),
    ...enforced,
    ...(findings.length === 0
      ? also.length === 0
        ? ['Every plan keeps it; there is nothing to do.', '']
        : []
      : table(
          ['Finding', 'Effect', 'What to do'],
          findings.map(([, one]) => [sentenceCell(one.sentence), effectOf(one), sentenceCell(one.help)]),
        )),
  ];
};

const rulesOf = (group) => Object.keys(UPGRADE_RULES).filter((rule) => rule.startsWith(group));

const groupSection = ([group, [title, intro]]) => [
  `### ${group}. ${title}`,
  '',
  intro,
  '',
  ...rulesOf(group).flatMap(ruleSection),
];

const INTRO = `An upgrade changes the Kubernetes version, other packages, certificates or the boot of nodes. Fairlead surveys the cluster, checks the rules below, and
makes a plan: every operation in order, with its reason and its predicted time. The plan is approved by its hash and never changes afterwards.
Then control planes change one at a time, addons follow, and workers follow them pool by pool: a canary first, then as many at a time as the budget of the pool allows.
Gates are checked before and after each node. When a rule stops the rollout, nothing further begins until an operator decides.`;

const EXAMPLE = `    fairlead upgrade plan demo --to v1.35.4        # the plan and its findings; nothing is touched
    fairlead upgrade start demo --to v1.35.4       # plan, ask for approval, and watch
    fairlead upgrade status demo --watch           # each node: phase, time, what it waits for
    fairlead upgrade pause demo --reason "the sale starts"
    fairlead upgrade resume demo --wait

When the rollout has halted, \`status\` shows the rule, the cause and what can be done next:

    fairlead upgrade retry demo --wait             # after the cause was fixed
    fairlead upgrade skip demo demo-w-2-k3x9q --reason "it will be replaced"
    fairlead upgrade rollback demo demo-w-2-k3x9q  # a failed worker gets its previous software back
    fairlead upgrade abort demo --reason "wrong version"

Nodes and pools are kept out of every upgrade by \`fairlead node hold\` and \`fairlead pool hold\`. kube-proxy runs on every node and changes there too, so packages and images are staged on held workers that are Ready. A worker that is excused because it is not Ready has nothing staged: where images cannot be pulled, the new kube-proxy waits there until an upgrade reaches the node. All commands and their options: [cli.md](cli.md).

A cluster with a [template](manifests.md#templates) has its version from it: \`fairlead upgrade start --to\` is refused (\`template.version-fixed\`). Name a template of the other version in its manifest, see what it would do with \`fairlead diff -f\`, and \`fairlead apply -f\` it; the rollout is the same. If the upgrade is rejected or aborted, the manifest names the template before again.`;

const overrides = () => [
  '## Overrides',
  '',
  'A rule marked as such can be overridden for one upgrade, with a reason that is kept in the history: when the upgrade starts, or while it runs.',
  '',
  '    fairlead upgrade start demo --to v1.35.4 --override "B4=saved by hand"',
  '    fairlead upgrade override demo E3 --reason "three machines are being replaced"',
  '',
  `These can be overridden: ${Object.keys(UPGRADE_RULES).filter(overrideMatters).join(', ')}. An overridden finding stays visible in the plan.`,
  '',
];

const gates = () => [
  '## Gates',
  '',
  'A gate is checked again until it passes or its time is over: 15 minutes before a node, 10 minutes after it (15 s more for each node that waits for kube-proxy), a day for a user gate. Then the operation fails.',
  '',
  ...table(
    ['Gate', 'Rule', 'Passes when', 'What to do when it does not'],
    [
      ...Object.entries(GATES).map(([gate, { rule, sentence, help }]) => [
        `\`${gate}\``,
        rule,
        cell(sentence),
        cell(help),
      ]),
      ['`user:<name>`', USER_GATE.rule, cell(USER_GATE.sentence), cell(USER_GATE.help)],
    ],
  ),
  'The strategy of an upgrade (`--strategy <file>`) declares user gates:',
  '',
  '```yaml',
  'gates:',
  '  - { kind: http, name: shop, url: https://shop.example.com/healthy, status: 200, secretName: inventory }',
  '```',
  '',
  'The URL is asked by GET, and its address must be public, or in `GATE_ADDRESSES_ALLOWED`. With a `secretName`, requests are [signed](hooks.md#signed-requests) with this hook secret of the namespace, and the body is empty.',
  '',
];

const pauses = () => [
  '## Pauses',
  '',
  'While a rollout is paused no further node begins; those that have begun are finished.',
  '',
  ...table(
    ['Paused by', 'Reason', 'What to do'],
    Object.values(PAUSE_REASONS).map(({ by, sentence, help }) => [by, sentenceCell(sentence), cell(help)]),
  ),
];

const halts = () => [
  '## Halts',
  '',
  'A rollout that has halted waits for an operator. _cause_ is the failure itself.',
  '',
  ...table(
    ['Rule', 'When', 'Cause', 'What to do'],
    Object.entries(HALTS).map(([rule, { when, sentence, help }]) => [
      rule,
      cell(when),
      sentenceCell(sentence),
      cell(help),
    ]),
  ),
];

const failures = () => [
  '## Failures',
  '',
  'A task that fails is retried and states its cause in the words of what it called. These failures are those of the rollout itself:',
  '',
  ...table(
    ['Failure', 'What to do'],
    Object.values(OPERATION_FAILURES).map(({ sentence, help, rule }) => [
      `${sentenceCell(sentence)}${rule === null ? '' : ` (${rule})`}`,
      cell(help),
    ]),
  ),
  '## Skipped and postponed nodes',
  '',
  ...table(
    ['', 'Reason', 'What to do'],
    [
      ...Object.values(SKIP_REASONS).map(({ sentence, help }) => ['Skipped', sentenceCell(sentence), cell(help)]),
      ...Object.values(POSTPONE_REASONS).map(({ sentence, help }) => ['Postponed', sentenceCell(sentence), cell(help)]),
    ],
  ),
];

const openUpgrades = () => [
  'The _state_ and _next_ of an upgrade that is open already (B1) are:',
  '',
  ...table(
    ['State', 'Next'],
    Object.values(OPEN_UPGRADE_STATES).map(({ state, next }) => [sentenceCell(state), cell(next)]),
  ),
];

const refusals = () => [
  '## Refused requests',
  '',
  'The API answers these codes before anything is recorded; [refusals.md](refusals.md) lists all others.',
  '',
  ...table(
    ['Code', 'HTTP', 'Sentence', 'What to do'],
    Object.entries(REFUSALS)
      .filter(([code]) => code.startsWith('upgrade.'))
      .map(([code, { status, sentence, help }]) => [`\`${code}\``, status, sentenceCell(sentence), sentenceCell(help)]),
  ),
];

const declared = () => [
  '## Versions that a manifest declares',
  '',
  'A version that a [manifest](manifests.md) declares stays declared until another is. Findings that a change in the cluster or time may cure do not reject its upgrade: it is `Waiting`, with the findings as its reason, looks at the cluster again every 15 seconds, and goes on by itself when none is left. Meanwhile it keeps nothing else from happening: nodes are repaired, replaced, added and removed, and a node that is replaced is the end of its finding. A plan that waits for its approval is made again if nodes have come or gone since.',
  '',
  'Another declared version takes its place, and the version before declared again ends it; so does `fairlead upgrade abort`, after which the manifest declares the version before again. A finding that only another request can cure rejects it, and then the manifest has the version before, too; the tables below show which.',
  '',
  'An upgrade that is requested by `fairlead upgrade start` is rejected at once by any of them. With `--wait-for-checks` (`waitForChecks` of the API) it waits like a declared one, also while nodes are added or removed.',
  '',
];

export const upgradeReference = () => {
  assertNamed('operation', PLAN_OPERATION_KINDS, Object.keys(OPERATIONS).join(' '));
  assertNamed('phase', UPGRADE_PHASES, STATES);
  assertNamed(
    'group of rules',
    [...new Set(Object.keys(UPGRADE_RULES).map(([group]) => group))],
    Object.keys(GROUPS).join(''),
  );
  return [
    '# Upgrades',
    '',
    '<!-- Generated by `npm run generate` from libs/contracts and tools/generate/upgrades.mjs. Do not edit. -->',
    '',
    INTRO,
    '',
    '## Example',
    '',
    EXAMPLE,
    '',
    '## Operations of a plan',
    '',
    ...table(
      ['Kind', 'What happens'],
      PLAN_OPERATION_KINDS.map((kind) => [`\`${kind}\``, cell(OPERATIONS[kind])]),
    ),
    '## States',
    '',
    '```mermaid',
    STATES,
    '```',
    '',
    ...declared(),
    ...overrides(),
    '## Rules',
    '',
    'The code of a rule stands before each finding in `fairlead upgrade plan`, `status` and the API. Words in _italics_ stand for what was found.',
    '',
    `A rule whose facts could not be read refuses the upgrade, too: ${sentenceCell(UNREAD_FINDING.sentence)}. ${cell(UNREAD_FINDING.help)}`,
    '',
    ...Object.entries(GROUPS).flatMap(groupSection),
    ...openUpgrades(),
    ...gates(),
    ...pauses(),
    ...halts(),
    ...failures(),
    ...refusals(),
  ].join('\n');
};
