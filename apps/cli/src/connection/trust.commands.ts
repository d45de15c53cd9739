import { HostKey, traitsOf } from '@fairlead/contracts';
import { InvalidArgumentError, type Command } from 'commander';
import type { ConnectionView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { wrappedLines } from '../output/wrap.js';

type Hosts = NonNullable<ConnectionView['hosts']>;
/** Absent from responses of earlier releases. */
type Key = Hosts[number]['hostKey'] | undefined;

const keyText = (key: Key): string => (key ? `${key.fingerprint} (${key.source})` : 'none known yet');

const powerLines = ({ power }: Hosts[number]): readonly string[] => {
  if (power === undefined) return [];
  const { protocol, last } = power;
  const answer = last === null ? '' : `, ${last.power ?? last.problem} (${last.action}, ${last.time})`;
  return [`    power: ${protocol}${answer}`];
};

const hostLines = (name: string, hosts: Hosts): readonly string[] =>
  hosts.flatMap((host) => [
    `  ${host.name} ${host.address}: ${host.state}${host.cluster === '' ? '' : `, ${host.cluster}`}`,
    `    host key: ${keyText(host.hostKey)}`,
    ...powerLines(host),
    ...(host.lastNamespace === '' ? [] : [`    used last by namespace ${host.lastNamespace}`]),
    ...(host.problem === '' ? [] : [`    problem: ${host.problem}`]),
    ...(host.warning === '' ? [] : [`    warning: ${host.warning}`]),
    ...(host.state === 'kept-out'
      ? [
          `    try again: fairlead connection verify ${name}; after it was reinstalled: fairlead connection accept-host ${name} ${host.name}`,
        ]
      : []),
  ]);

/** Earlier releases do not return the SSH key. */
const sshKeyLines = ({ sshKey }: ConnectionView): readonly string[] => {
  if (sshKey === undefined) return [];
  const { name, publicKey, rotation } = sshKey;
  return [
    `SSH key ${name}`,
    `  public key: ${publicKey}`,
    ...(rotation === null
      ? []
      : [
          `  rotation: ${rotation.status}; ${rotation.replaced} hosts have the new key only, ${rotation.pending} still need the former one`,
          ...rotation.hosts.map(({ namespace, cluster, node }) => `    ${namespace}/${cluster}/${node}`),
          ...(rotation.problem === '' ? [] : [`  problem: ${rotation.problem}`]),
        ]),
  ];
};

export const describeText = (item: ConnectionView): string => {
  const { name, provider, region, problem, namespaces, hosts = [], jump } = item;
  return [
    `Connection ${name}`,
    `  provider: ${provider}${region === '' ? '' : `, region ${region}`}`,
    `  isolation: ${traitsOf(provider).isolation}`,
    ...(namespaces === undefined ? [] : [`  granted to: ${namespaces.join(', ')}`]),
    ...(problem === '' ? [] : [`  problem: ${problem}`]),
    ...(jump === undefined
      ? []
      : [`Jump host ${jump.user}@${jump.address}:${jump.port}`, `    host key: ${keyText(jump.hostKey)}`]),
    ...sshKeyLines(item),
    ...(hosts.length === 0 ? [] : ['Hosts', ...hostLines(name, hosts)]),
  ].join('\n');
};

export const addDescribe = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <connection>',
    shared: 'installation',
    summary: 'Show a connection with its hosts, their SSH host keys and the isolation of tenants',
    examples: [['fairlead connection describe site', 'Show the expected host key of each host and of the jump host']],
  }).action(
    runs(io, async (session, name: string) => {
      const item = await session.api.get('/connections/{connection}', { connection: name });
      return {
        data: item,
        table: (columns) => wrappedLines(describeText(item).split('\n'), columns).join('\n'),
        names: [item.name],
      };
    }),
  );
};

const fingerprint = (text: string): string => {
  if (HostKey.safeParse(text).success) return text;
  throw new InvalidArgumentError('Give the fingerprint that ssh-keygen -lf prints: SHA256:<43 characters>.');
};

export const addAcceptHostKey = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'accept-host-key <connection>',
    shared: 'installation',
    summary: 'Accept the SSH host key of a host of an inventory, or of the jump host',
    description:
      'Accept a new SSH host key of a host of an inventory, or of the jump host. Read the fingerprint on the host itself (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub): a new key can also be a sign of an attack.',
    examples: [
      [
        'fairlead connection accept-host-key site --host rack-1 --key SHA256:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg',
        'Accept the new key of a host that was reinstalled',
      ],
      [
        'fairlead connection accept-host-key site --jump --key SHA256:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg',
        'Accept the new key of the jump host',
      ],
    ],
  })
    .option('--host <name>', 'host of the inventory')
    .option('--jump', 'accept the key of the jump host')
    .requiredOption('--key <fingerprint>', 'fingerprint of the new host key', fingerprint)
    .action(
      runs(io, async (session, name: string, options: { host?: string; jump?: boolean; key: string }) => {
        const { host, jump = false, key } = options;
        if ((host === undefined) !== jump) throw usageFailure('Give either --host <name> or --jump');
        await session.api.post(
          '/connections/{connection}/accept-host-key',
          { connection: name },
          { body: { host: host ?? null, hostKey: key } },
        );
        const table = `${key} is the host key of ${host ?? 'the jump host'} from now on; the hosts are being looked at.`;
        return { data: { name, host: host ?? null, hostKey: key }, table, names: [name] };
      }),
    );
};

export const addAcceptHost = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'accept-host <connection> <host>',
    shared: 'installation',
    summary: 'Accept a host of an inventory as it is, e.g. after a reinstallation',
    description:
      'Accept a host of an inventory as it is, e.g. after a reinstallation. A host that was excluded becomes free, and a host last used by another namespace becomes free for all namespaces that can use the connection. The host is not changed.',
    examples: [['fairlead connection accept-host site rack-2', 'Accept a host without resetting it again']],
  }).action(
    runs(io, async (session, name: string, host: string) => {
      await session.api.post('/connections/{connection}/accept-host', { connection: name }, { body: { host } });
      return {
        data: { name, host },
        table: `The host ${host} of connection ${name} is accepted as it is.`,
        names: [host],
      };
    }),
  );
};
