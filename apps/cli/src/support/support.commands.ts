import { errorCodeOf } from '@fairlead/contracts';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fileEntry, TAR_END, tarHeader, tarPadding } from '@fairlead/mirror';
import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { CliFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { deadlineAfter } from '../time/deadline.js';
import { knownSecrets } from './known.secrets.js';
import { localParts, partsOf, type Part } from './parts.js';
import { scrubbed } from './scrub.js';

const PART_TIMEOUT_MS = 15_000;
const TOTAL_TIMEOUT_MS = 90_000;
const PART_MAX_CHARACTERS = 8 * 1_048_576;
const TOTAL_MAX_CHARACTERS = 64 * 1_048_576;

interface SupportOptions {
  readonly outputFile?: string;
  readonly dryRun?: true;
}

export const addSupportCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'support-bundle [cluster]',
    summary: 'Collect what is needed to find the cause of a problem',
    description:
      'Write a tar.gz with versions, connections, metrics and, of a cluster, its state, conditions, nodes, machines, operations, findings, certificates, manifest and last events; beside the instance also facts about this machine and the ends of its logs, which it holds even if the server does not answer. The cluster may be deleted. Secrets are removed: the token in use, the keys and passwords of the local instance, fields that hold secrets, and whatever has the form of one. Addresses and names stay: look through it before you give it away. What cannot be read is listed in it. It takes at most 90 seconds and 64 MiB.',
    examples: [
      ['fairlead support-bundle demo', 'Write fairlead-support-demo-<time>.tar.gz'],
      ['fairlead support-bundle demo --dry-run', 'List what it would hold'],
      ['fairlead support-bundle -f bundle.tar.gz', 'Without a cluster: about the installation only'],
    ],
  })
    .option('-f, --output-file <file>', 'file to write (default: fairlead-support-<cluster>-<time>.tar.gz)')
    .option('--dry-run', 'list what it would hold, and write nothing')
    .action(
      runs(io, async (session, cluster: string | undefined, options: SupportOptions) =>
        support(session, cluster, options),
      ),
    );
};

interface Collected {
  readonly path: string;
  readonly what: string;
  readonly text: string;
  /** Why it is not there, or not whole; empty: it is. */
  readonly problem: string;
}

const inTime = async (part: Part, limitMs: number): Promise<string> => {
  const late = deadlineAfter(limitMs);
  const tooLate = new Promise<never>((_resolve, reject) => {
    late.signal.addEventListener('abort', () => reject(new Error('it took too long')), { once: true });
  });
  try {
    return await Promise.race([part.read(), tooLate]);
  } finally {
    late.clear();
  }
};

const collect = async (
  part: Part,
  limits: { readonly ms: number; readonly characters: number },
  known: readonly string[],
): Promise<Collected> => {
  const { path, what } = part;
  if (limits.ms <= 0 || limits.characters <= 0)
    return { path, what, text: '', problem: 'left out: the bundle has reached its limit' };
  try {
    const text = scrubbed(await inTime(part, limits.ms), known);
    const max = Math.min(PART_MAX_CHARACTERS, limits.characters);
    return text.length <= max
      ? { path, what, text, problem: '' }
      : { path, what, text: text.slice(0, max), problem: `cut after ${max} characters` };
  } catch (error) {
    // Its words are not ours: a server may repeat what it was sent.
    return { path, what, text: '', problem: scrubbed(wordsOf(error), known) };
  }
};

const collectAll = async (
  parts: readonly Part[],
  { io }: Session,
  known: readonly string[],
): Promise<readonly Collected[]> => {
  const endMs = Date.now() + TOTAL_TIMEOUT_MS;
  let characters = TOTAL_MAX_CHARACTERS;
  const all: Collected[] = [];
  for (const part of parts) {
    io.interrupts.first.throwIfAborted();
    const one = await collect(part, { ms: Math.min(PART_TIMEOUT_MS, endMs - Date.now()), characters }, known);
    characters -= one.text.length;
    all.push(one);
  }
  return all;
};

const linesOf = (collected: readonly Collected[]): readonly string[] =>
  collected.map(
    ({ path, what, problem }) => `${path.padEnd(28)}  ${what}${problem === '' ? '' : ` (not whole: ${problem})`}`,
  );

const readmeOf = (collected: readonly Collected[], time: string): string =>
  [
    `Support bundle of Fairlead, ${time}`,
    '',
    'Secrets were removed, and "[removed]" stands in their place. Names and addresses were not.',
    '',
    ...linesOf(collected),
    '',
  ].join('\n');

const archive = (folder: string, files: readonly Pick<Collected, 'path' | 'text'>[]): Buffer => {
  const blocks = files.flatMap(({ path, text }) => {
    const content = Buffer.from(text, 'utf8');
    return [tarHeader(fileEntry(`${folder}/${path}`, content.length, 0o600)), content, tarPadding(content.length)];
  });
  return gzipSync(Buffer.concat([...blocks, TAR_END]));
};

const write = async (file: string, content: Buffer): Promise<void> => {
  try {
    await writeFile(file, content, { mode: 0o600, flag: 'wx' });
    await chmod(file, 0o600);
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST')
      throw new CliFailure('conflict', {
        code: 'cli.file-exists',
        message: `${file} exists already`,
        help: 'Choose another file with --output-file.',
      });
    await rm(file, { force: true });
    throw new CliFailure('failed', {
      code: 'cli.file-unwritable',
      message: `${file} cannot be written: ${wordsOf(error)}`,
    });
  }
};

/** Logs explain why a server does not answer; without any, or without such a cluster, that is the answer. */
const partsToRead = async (session: Session, cluster: string | undefined): Promise<readonly Part[]> => {
  const { api, io, namespace } = session;
  try {
    await api.get('/version');
  } catch (error) {
    const parts = error instanceof CliFailure && error.exit === 'unreachable' ? localParts(session) : [];
    if (parts.length === 0) throw error;
    io.err(`${wordsOf(error)}. The bundle holds the logs of this instance alone.\n`);
    return parts;
  }
  // One that was deleted, or never created, has operations and a history.
  if (cluster !== undefined) await api.list('/ns/{namespace}/clusters/{cluster}/operations', { namespace, cluster });
  return partsOf(session, cluster);
};

const support = async (
  session: Session,
  cluster: string | undefined,
  options: SupportOptions,
): Promise<CommandOutput> => {
  const { io } = session;
  if (options.dryRun === true) {
    const listed = partsOf(session, cluster).map(({ path, what }) => ({ path, what }));
    const lines = linesOf(listed.map((one) => ({ ...one, text: '', problem: '' })));
    return { data: { dryRun: true, files: listed }, table: lines.join('\n'), names: listed.map(({ path }) => path) };
  }
  const parts = await partsToRead(session, cluster);
  const time = new Date(io.now()).toISOString();
  const stem = `fairlead-support-${cluster ?? 'installation'}-${time.slice(0, 19).replaceAll(':', '')}`;
  const collected = await collectAll(parts, session, knownSecrets(session));
  const readme = { path: 'README.txt', text: readmeOf(collected, time) };
  const file = resolve(io.cwd, options.outputFile ?? join('.', `${stem}.tar.gz`));
  await write(file, archive(stem, [readme, ...collected]));
  const files = collected.map(({ path, what, problem }) => ({ path, what, problem }));
  return {
    data: { file, files },
    table: [...linesOf(collected), '', `Wrote ${file}. Secrets were removed; names and addresses were not.`].join('\n'),
    names: [file],
  };
};
