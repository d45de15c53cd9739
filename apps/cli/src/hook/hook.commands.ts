import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HOOK_POINTS, type HookPoint } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import { clusterAnswer } from '../cluster/cluster.answers.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { clusterAt } from '../command/session.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';

const GENERATED_BYTES = 32;

export const addHookCommands = (program: Command, io: Io): void => {
  const hook = addGroup(program, 'hook', 'Skip hooks, and manage the secrets that sign requests to hooks').alias(
    'hooks',
  );
  addSkip(hook, io);
  addSecrets(hook, io);
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
        return clusterAnswer(await session.api.skipHook(clusterAt(session, name), hook, request), io.now());
      }),
    );
};

const addSecrets = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'secrets',
    summary: 'List the hook secrets of a namespace, without their values',
    examples: [['fairlead hook secrets -n team-a', 'List the secrets that manifests of team-a can use']],
  }).action(
    runs(io, async (session) => {
      const items = await session.api.hookSecrets(session.namespace);
      const rows = items.map(({ name, setTime }) => [name, setTime]);
      const table = { columns: ['name', 'set'], rows, empty: 'There are no hook secrets.' };
      return { data: items, table, names: items.map(({ name }) => name) };
    }),
  );
};

const addSetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'set-secret <secret>',
    summary: 'Set a hook secret',
    description:
      'Set the secret that signs requests to the hooks that refer to it. The value is sealed by the server and never shown again. Without a file, a random value is generated and printed once.',
    examples: [
      ['fairlead hook set-secret inventory', 'Generate a value and print it'],
      ['fairlead hook set-secret inventory --value-file inventory.secret -n team-a', 'Read the value from a file'],
    ],
  })
    .option('--value-file <file>', 'file with 32 to 256 printable characters; - reads standard input')
    .action(
      runs(io, async (session, name: string, { valueFile }: { readonly valueFile?: string }) => {
        const generated = valueFile === undefined ? randomBytes(GENERATED_BYTES).toString('base64url') : undefined;
        const value = generated ?? (await valueIn(valueFile ?? '-', io));
        const set = await session.api.putHookSecret(session.namespace, name, value);
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
      await session.api.deleteHookSecret(session.namespace, name);
      return { data: { name, deleted: true }, table: `The hook secret ${name} is deleted.`, names: [name] };
    }),
  );
};
