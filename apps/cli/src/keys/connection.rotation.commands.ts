import { Option, type Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { duration } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { rotatedText, untilRotated } from './connection.rotation.effects.js';

interface Options {
  readonly force?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

const TIMEOUT_DEFAULT_MS = 30 * 60_000;

export const addConnectionRotation = (rotate: Command, io: Io): void => {
  addCommand(rotate, {
    usage: 'connection <name>',
    shared: 'installation',
    summary: 'Rotate the SSH key of a connection on every host that has it',
    description:
      'Create a new SSH key for a connection. New machines get the new key; on existing hosts it is added and tested by a login before the former key is removed. The former key is destroyed when no host uses it. Hosts that are off are retried until they answer; they do not delay other hosts. With --force, a rotation in progress ends without them. The keys of your own hosts (provider ssh) are not rotated by this command.',
    examples: [
      ['fairlead keys rotate connection lab', 'Rotate the key, and wait until the former key is destroyed'],
      ['fairlead keys rotate connection lab --no-wait --output json', 'Request the rotation without waiting'],
      ['fairlead keys rotate connection lab --force', 'End a rotation although some hosts are off'],
    ],
  })
    .option('--force', 'end the rotation in progress, and destroy the former key although hosts still use it')
    .option('--wait', 'wait until the former key is destroyed (default)', true)
    .option('--no-wait', 'exit when the request is accepted')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait, e.g. 2h')
        .argParser(duration)
        .default(TIMEOUT_DEFAULT_MS, '30m'),
    )
    .action(runs(io, (session, name: string, options: Options) => rotateConnection(session, name, options)));
};

const rotateConnection = async (session: Session, name: string, options: Options): Promise<CommandOutput> => {
  const { api, io } = session;
  const { force = false, wait, timeout } = options;
  const before = (await api.get('/connections/{connection}', { connection: name })).sshKey?.rotated?.time;
  await api.post(
    '/connections/{connection}/ssh-key/rotate',
    { connection: name },
    { body: force ? { force: true } : {} },
  );
  if (!wait) return { data: { name, rotating: true }, table: `The rotation of ${name} was requested.`, names: [name] };
  const view = await untilRotated(api, {
    name,
    before,
    timeoutMs: timeout,
    interrupted: io.interrupts.first,
    tell: (line) => io.err(`${line}\n`),
  });
  const rotated = view.sshKey?.rotated ?? null;
  return { data: view.sshKey, table: rotated === null ? '' : rotatedText(name, rotated), names: [name] };
};
