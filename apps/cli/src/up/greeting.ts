import type { Colors } from 'picocolors/types.js';
import type { Site } from './up.settings.js';

export interface Greeting {
  readonly server: string;
  /** Where the operator's page signs in; undefined: it is not served any more. */
  readonly page: string | undefined;
  readonly tokenFile: string;
  readonly dataDir: string;
  /** Set when there is a cluster to reach. */
  readonly cluster?: { readonly name: string; readonly kubeconfigFile: string; readonly endpoint: string } | undefined;
  /** The name of one that failed. */
  readonly failed?: string | undefined;
  /** The name of one that is there from an earlier start. */
  readonly existing?: string | undefined;
  /** How the user calls this program. */
  readonly command: string;
  /** The instance is not the one that this program finds by itself from here. */
  readonly isElsewhere: boolean;
  /** Where machines come from. */
  readonly site: Site;
  /** From this process until Ctrl-C, from one in the background until "down", or not any more. */
  readonly serves: 'here' | 'in the background' | 'no more';
}

/** How to reach what runs now, and what to do next. */
export const greetingText = (greeting: Greeting, colors: Colors): string => {
  const { server, tokenFile, dataDir, cluster, serves } = greeting;
  const line = lineOf(greeting);
  const facts: readonly (readonly [string, string])[] = [
    ...(greeting.page === undefined ? [] : ([['Page', greeting.page]] as const)),
    ['REST API', server],
    ['API docs', `${server}/docs`],
    ['Token', tokenFile],
    ['Data and logs', dataDir],
    ...(cluster === undefined
      ? []
      : ([
          ['Kubernetes API', cluster.endpoint],
          ['Kubeconfig', `${cluster.kubeconfigFile} (valid for 24 h)`],
        ] as const)),
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  const next = nextCommands(greeting);
  return [
    '',
    cluster === undefined
      ? serves !== 'no more'
        ? 'Fairlead is ready.'
        : 'Fairlead was ready.'
      : `The cluster ${colors.bold(cluster.name)} is Ready. Its machines are ${greeting.site.machines}.`,
    '',
    ...facts.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    '',
    greeting.site.caution,
    '',
    ...(serves !== 'no more'
      ? [
          'Next:',
          ...next.map((one) => `  ${colors.cyan(one)}`),
          '',
          serves === 'here'
            ? `Press Ctrl-C to stop; ${line('up')} continues where it left off.`
            : `It runs in the background; ${line('down')} stops it, and ${line('up')} continues where it left off.`,
          '',
        ]
      : []),
  ].join('\n');
};

/** How a line is called so that it is about this instance. */
const lineOf =
  ({ command, isElsewhere, dataDir }: Greeting) =>
  (words: string): string =>
    `${command} ${words}${isElsewhere ? ` --data ${dataDir}` : ''}`;

const nextCommands = (greeting: Greeting): readonly string[] => [
  ...aboutClusters(greeting, lineOf(greeting)),
  `${greeting.command} --help`,
];

const aboutClusters = (
  { cluster, failed, existing, site }: Greeting,
  line: (words: string) => string,
): readonly string[] => {
  const machines = `--connection ${site.connection} --machine-type ${site.spec} --wait`;
  if (failed !== undefined)
    return [
      line(`cluster describe ${failed}`),
      line(`cluster retry ${failed} --wait`),
      line(`cluster delete ${failed} --wait`),
    ];
  if (cluster !== undefined)
    return [
      `kubectl --kubeconfig ${cluster.kubeconfigFile} get nodes`,
      line(`kubeconfig ${cluster.name} -o ${cluster.kubeconfigFile}`),
      line(`cluster describe ${cluster.name}`),
      line(`events ${cluster.name} --follow`),
      line(`node add ${cluster.name} --wait`),
      line(`cluster delete ${cluster.name} --wait`),
    ];
  if (existing !== undefined) return [line('cluster list'), line(`cluster describe ${existing}`)];
  return [line(`cluster create demo --control-planes 3 --workers 2 ${machines}`)];
};
