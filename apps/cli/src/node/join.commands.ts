import { Duration, durationMs, JOIN_TOKEN_TTL_SECONDS, joinCommandOf, type Labels } from '@fairlead/contracts';
import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { addCommand, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import { usageFailure } from '../failures.js';
import { assignments, type Assignment } from '../upgrade/upgrade.request.js';
import type { Io } from '../io/io.js';

interface JoinOptions {
  readonly pool?: string;
  readonly label?: readonly Assignment[];
  readonly ttl: string;
  readonly gatewayUrl?: string;
  readonly idempotencyKey?: string;
}

const MS_PER_SECOND = 1_000;
const DEFAULT_TTL = `${JOIN_TOKEN_TTL_SECONDS.default / 3_600}h`;

const secondsOf = (ttl: string): number => {
  const parsed = Duration.safeParse(ttl);
  if (!parsed.success) throw usageFailure(`--ttl: ${ttl} is not a duration`, 'Give one like 30m or 12h.');
  return Math.floor(durationMs(parsed.data) / MS_PER_SECOND);
};

/** For a pool, or with labels by which a later pool claims the host. */
const targetOf = ({ pool, label = [] }: JoinOptions): { readonly pool: string } | { readonly labels: Labels } => {
  if ((pool === undefined) === (label.length === 0))
    throw usageFailure(
      'Give either --pool or --label',
      'With --pool, the host joins a pool; with --label, it waits until a pool claims it.',
    );
  return pool === undefined ? { labels: Object.fromEntries(label.map(({ name, value }) => [name, value])) } : { pool };
};

export const addJoinCommand = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'join-command <cluster>',
    summary: 'Print the command by which one host joins a pool by itself',
    description:
      'Print one command to run as root on a host that Fairlead cannot reach, e.g. behind NAT. The host connects to this server and to NATS, is admitted by its token, and becomes a node of the pool; nothing connects to it. With --label instead of --pool, the host is registered and waits, untouched, until a pool whose hostSelector matches its labels claims it. The token in the command admits exactly one host, until it expires. The connection of the pool is one of the provider join.',
    examples: [
      ['fairlead node join-command demo --pool web', 'Print the command for one host'],
      ['fairlead node join-command demo --pool web --ttl 10m --output json', 'A token for ten minutes, for a program'],
      ['fairlead node join-command demo --label site=shed', 'For a host that waits for its pool'],
    ],
  })
    .option('--pool <name>', 'worker pool that the host joins')
    .option('--label <key=value>', 'register the host with this label instead (repeatable)', assignments('key=value'))
    .option('--ttl <duration>', 'how long the token is valid, at most 24h', DEFAULT_TTL)
    .option('--gateway-url <url>', 'address at which the host reaches the gateway (default: that of this command line)')
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key gives the same token (default: generated)',
    )
    .action(
      runs(io, async (session, name: string, options: JoinOptions) => {
        const { ttl, idempotencyKey: key = randomUUID() } = options;
        const at = clusterAt(session, name);
        const ttlSeconds = secondsOf(ttl);
        const target = targetOf(options);
        const { data: issued } = await ('pool' in target
          ? session.api.post(
              '/ns/{namespace}/clusters/{cluster}/pools/{pool}/join-tokens',
              { ...at, pool: target.pool },
              { body: { ttlSeconds }, key },
            )
          : session.api.post('/ns/{namespace}/clusters/{cluster}/hosts/join-tokens', at, {
              body: { ttlSeconds, labels: target.labels },
              key,
            }));
        const server = options.gatewayUrl ?? session.api.access.server;
        const command = joinCommandOf({ server, ca: session.api.access.authority, issued, script: issued.script });
        const what = 'pool' in target ? `admits one host to pool ${target.pool} of` : 'registers one host with';
        io.err(`The token ${what} ${name} until ${issued.expiresAt}.\n`);
        return { data: { ...issued, command }, table: command, names: [command] };
      }),
    );
};
