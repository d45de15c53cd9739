import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HOOK_POINTS, type HookPoint } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import { withDocument } from '../cluster/one.cluster.effects.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { durationBetween } from '../command/parsers.js';
import { clusterAt } from '../command/session.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';

const GENERATED_BYTES = 32;
const MS_PER_SECOND = 1_000;

export const addHookCommands = (program: Command, io: Io): void => {
  const hook = addGroup(
    program,
    'hook',
    'Skip hooks, and manage the secrets that sign requests to hooks and gates',
  ).alias('hooks');
  addSkip(hook, io);
  addSecrets(hook, io);
  addGetSecret(hook, io);
  addSetSecret(hook, io);
  addDeleteSecret(hook, io);
};

interface SkipOptions {
  readonly point?: HookPoint;
  readonly node?: string;
  readonly reason: string;
}

const addSkip = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'skip <cluster> <hook>',
    summary: 'Continue without the answer of a hook',
    description:
      'Continue what is waiting for the hook as if it had answered with Success. The history records who skipped it and why. The hook is called again at the next point; to stop using it, remove it from the manifest.',
    examples: [
      ['fairlead hook skip demo backup --reason "the backup server is down"', 'Skip the hook wherever it is waiting'],
      [
        'fairlead hook skip demo backup --point BeforeNodeDrain --node demo-w-1-q3m9d --reason "node has no data"',
        'Skip the hook for one node',
      ],
    ],
  })
    .addOption(new Option('--point <point>', 'release only at this point').choices(HOOK_POINTS))
    .option('--node <node>', 'release only this node')
    .requiredOption('--reason <text>', 'reason, recorded in the history')
    .action(
      runs(io, async (session, name: string, hook: string, { point, node, reason }: SkipOptions) => {
        const request = { ...(point && { point }), ...(node && { node }), reason };
        return withDocument(
          session,
          (
            await session.api.post(
              '/ns/{namespace}/clusters/{cluster}/hooks/{hook}/skip',
              { ...clusterAt(session, name), hook },
              { body: request },
            )
          ).data,
        );
      }),
    );
};

const addSecrets = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list-secrets',
    summary: 'List the hook secrets of a namespace, without their values',
    examples: [['fairlead hook list-secrets -n team-a', 'List the secrets that manifests of team-a can use']],
  }).action(
    runs(io, async (session) => {
      const items = await session.api.list('/ns/{namespace}/hook-secrets', { namespace: session.namespace });
      const isValid = (until: string): boolean => Date.parse(until) > io.now();
      const rows = items.map(({ name, setTime, oldValidUntil = '' }) => [
        name,
        setTime,
        isValid(oldValidUntil) ? oldValidUntil : '',
      ]);
      const table = { columns: ['name', 'changed', 'old value expires'], rows, empty: 'There are no hook secrets.' };
      return { data: items, table, names: items.map(({ name }) => name) };
    }),
  );
};

const addGetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get-secret <secret>',
    summary: 'Print the value of a hook secret',
    description:
      'Print the value with which requests are signed now, for a receiver that lost it. It needs the role admin in the namespace, and the history records who read it.',
    examples: [['fairlead hook get-secret inventory > inventory.secret', 'Write the value to a file']],
  }).action(
    runs(io, async (session, name: string) => {
      const at = { namespace: session.namespace, secret: name };
      const { value } = await session.api.get('/ns/{namespace}/hook-secrets/{secret}/value', at);
      return { data: { name, value }, table: value, names: [name] };
    }),
  );
};

interface SetSecretOptions {
  readonly valueFile?: string;
  /** In milliseconds. */
  readonly expireOldAfter?: number;
}

const addSetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'set-secret <secret>',
    summary: 'Set a hook secret',
    description:
      'Set the secret that signs requests to the hooks and gates that refer to it. The value is sealed by the server; only administrators of the namespace can read it back. Without a file, a random value is generated and printed. If the secret exists, requests are signed with both values until the old one expires; another rotation before that replaces the old one.',
    examples: [
      ['fairlead hook set-secret inventory', 'Generate a value and print it'],
      ['fairlead hook set-secret inventory --value-file inventory.secret -n team-a', 'Read the value from a file'],
      ['fairlead hook set-secret inventory --expire-old-after 0s', 'Replace a value that became known to others'],
    ],
  })
    .option('--value-file <file>', 'file with 32 to 256 printable characters; - reads standard input')
    .option(
      '--expire-old-after <duration>',
      'how long requests are signed with the old value, too: 0s to 168h (default: 24h)',
      durationBetween('0s', '168h'),
    )
    .action(
      runs(io, async (session, name: string, { valueFile, expireOldAfter }: SetSecretOptions) => {
        const generated = valueFile === undefined ? randomBytes(GENERATED_BYTES).toString('base64url') : undefined;
        const value = generated ?? (await valueIn(valueFile ?? '-', io));
        const { data: set } = await session.api.put(
          '/ns/{namespace}/hook-secrets/{secret}',
          { namespace: session.namespace, secret: name },
          {
            body: {
              value,
              ...(expireOldAfter === undefined
                ? {}
                : { expireOldAfterSeconds: Math.round(expireOldAfter / MS_PER_SECOND) }),
            },
          },
        );
        if (set.oldValidUntil !== undefined)
          io.err(`Requests are signed with the old value, too, until ${set.oldValidUntil}.\n`);
        const data = generated === undefined ? set : { ...set, value: generated };
        return { data, table: generated ?? `The hook secret ${name} is set.`, names: [name] };
      }),
    );
};

const valueIn = async (file: string, io: Io): Promise<string> => {
  if (file === '-') return (await io.readStdin()).trim();
  try {
    return (await readFile(resolve(io.cwd, file), 'utf8')).trim();
  } catch (error) {
    throw usageFailure(`The value cannot be read: ${wordsOf(error)}`);
  }
};

const addDeleteSecret = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete-secret <secret>',
    summary: 'Delete a hook secret',
    description: 'Delete a hook secret. Hooks that still refer to it fail, and their failurePolicy applies.',
    examples: [['fairlead hook delete-secret inventory', 'Delete a secret that no manifest uses']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      const what = `The hook secret ${name} of namespace ${session.namespace} will be deleted; hooks that refer to it will fail`;
      await confirm(io, { what }, options);
      await session.api.delete('/ns/{namespace}/hook-secrets/{secret}', { namespace: session.namespace, secret: name });
      return { data: { name, deleted: true }, table: `The hook secret ${name} is deleted.`, names: [name] };
    }),
  );
};
