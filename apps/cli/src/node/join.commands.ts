import { Duration, durationMs, JOIN_TOKEN_TTL_SECONDS, joinCommandOf } from '@fairlead/contracts';
import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { addCommand, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

interface JoinOptions {
  readonly pool: string;
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

export const addJoinCommand = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'join-command <cluster>',
    summary: 'Print the command by which one host joins a pool by itself',
    description:
      'Print one command to run as root on a host that Fairlead cannot reach, e.g. behind NAT. The host connects to this server and to NATS, is admitted by its token, and becomes a node of the pool; nothing connects to it. The token in the command admits exactly one host, until it expires. The connection of the pool is one of the provider join.',
    examples: [
      ['fairlead node join-command demo --pool web', 'Print the command for one host'],
      ['fairlead node join-command demo --pool web --ttl 10m --output json', 'A token for ten minutes, for a program'],
    ],
  })
    .requiredOption('--pool <name>', 'worker pool that the host joins')
    .option('--ttl <duration>', 'how long the token is valid, at most 24h', DEFAULT_TTL)
    .option('--gateway-url <url>', 'address at which the host reaches the gateway (default: that of this command line)')
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key gives the same token (default: generated)',
    )
    .action(
      runs(io, async (session, name: string, options: JoinOptions) => {
        const { pool, ttl, idempotencyKey = randomUUID() } = options;
        const at = clusterAt(session, name);
        const ttlSeconds = secondsOf(ttl);
        const { data: issued } = await session.api.post(
          '/ns/{namespace}/clusters/{cluster}/pools/{pool}/join-tokens',
          { ...at, pool },
          { body: { ttlSeconds }, key: idempotencyKey },
        );
        const server = options.gatewayUrl ?? session.api.access.server;
        const command = joinCommandOf({ server, ca: session.api.access.authority, issued, script: issued.script });
        io.err(`The token admits one host to pool ${pool} of ${name} until ${issued.expiresAt}.\n`);
        return { data: { ...issued, command }, table: command, names: [command] };
      }),
    );
};
