import { epochOf, holdsLog, type HandoverRecord } from '@fairlead/contracts';
import type { LogState } from '@fairlead/event-sourcing/streams';
import { createCurve, createUser, fromCurveSeed, fromSeed } from '@nats-io/nkeys';
import { createHash } from 'node:crypto';
import { CliFailure } from '../failures.js';
import { OwnerKeysText, type Header } from './handover.file.js';
import { checkHandover, messagesIn, writeHandover, type Content } from './handover.file.store.js';
import { MOVED, type Installation, type KeptBySource, type Message } from './handover.ports.js';

/** Random values for each handover. */
export interface Fresh {
  readonly id: string;
  readonly code: string;
  readonly at: string;
}

const RECEIPT_LENGTH = 32;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The lock that is opened by a code. */
export const lockOf = (code: string): string => sha256(`fairlead-handover-code ${code}`);

/** Proof that the target has imported the export of the source. */
const receiptOf = (id: string, digest: string): string =>
  sha256(`fairlead-handover-receipt ${id} ${digest}`).slice(0, RECEIPT_LENGTH);

/** A digest of the log that does not depend on the server's metadata. */
class LogDigest {
  private readonly hash = createHash('sha256');
  events = 0;

  add({ subject, data }: Message): void {
    this.events += 1;
    this.hash.update(`${subject} ${data.length}\n`).update(data);
  }

  value(): string {
    return this.hash.copy().digest('hex');
  }
}

const conflict = (code: string, message: string, help: string): CliFailure =>
  new CliFailure('conflict', { code, message, help });

const notSource = (): CliFailure =>
  conflict(
    'cli.handover-not-started',
    'This installation is not being handed over',
    'Start with "fairlead handover export" here, or name another data folder.',
  );

const wasReleased = (): CliFailure =>
  conflict(
    'cli.handover-released',
    'This installation was released: another one has taken it over, or may do so at any time',
    'Activate the other installation. "fairlead handover release" prints the code again.',
  );

/** Returns the public key to which a source seals. Changes only the key file. */
export const prepareTarget = async (target: Installation): Promise<string> => {
  const { record, messages } = await target.state();
  if (record === undefined && messages > 0) throw notEmpty(messages);
  if (record !== undefined && record.state !== 'importing' && record.state !== 'imported') throw alreadyUsed(record);
  return fromCurveSeed(target.seed()).getPublicKey();
};

const notEmpty = (messages: number): CliFailure =>
  conflict(
    'cli.handover-target-not-empty',
    `The log of this installation has ${messages} events; only an empty one takes another over`,
    'Use a new data folder, and do not start its services before the import.',
  );

const alreadyUsed = ({ state }: HandoverRecord): CliFailure =>
  conflict(
    'cli.handover-target-used',
    `The log of this installation is ${state}`,
    'Use a new data folder for another handover.',
  );

const asActive = ({ record }: LogState): Pick<HandoverRecord, 'before'> => {
  if (record?.state !== 'active') return {};
  const { id, target, lock, at, epoch, events } = record;
  return { before: { state: 'active', id, target, lock, at, epoch, events } };
};

/** Closes the log until the handover is cancelled or released. A repeated export continues. */
const fence = async (
  source: Installation,
  target: string,
  fresh: Fresh,
): Promise<{ readonly record: HandoverRecord; readonly kept: KeptBySource }> => {
  const state = await source.state();
  const { record } = state;
  const known = source.readKept();
  if (record !== undefined && !holdsLog(record)) {
    if (record.state === 'released') throw wasReleased();
    if (record.state !== 'fenced') throw alreadyUsed(record);
    if (record.target !== target) throw otherTarget(record.target);
    if (known?.id !== record.id) throw withoutCode();
    return { record, kept: known };
  }
  // Written to disk before the lock is in the log: a fence whose code is lost could only be cancelled.
  const kept: KeptBySource = { id: fresh.id, target, code: fresh.code, signingSeed: newSigningSeed() };
  source.keep(kept);
  const { id, code } = kept;
  const fenced: HandoverRecord = {
    state: 'fenced',
    id,
    target,
    lock: lockOf(code),
    at: fresh.at,
    epoch: epochOf(record),
    events: 0,
    ...asActive(state),
  };
  await source.close(fenced);
  return { record: fenced, kept };
};

const otherTarget = (target: string): CliFailure =>
  conflict(
    'cli.handover-other-target',
    `This installation is being handed over to ${target}`,
    'Cancel that first: fairlead handover cancel.',
  );

const withoutCode = (): CliFailure =>
  conflict(
    'cli.handover-code-missing',
    'The data folder does not have keys/handover.json of this handover, without which it cannot be completed',
    'Name the data folder from which it was started, or cancel it: fairlead handover cancel.',
  );

async function* contentOf(source: Installation, digest: LogDigest): Content {
  for (const kind of MOVED) {
    for await (const message of source.messages(kind)) {
      if (kind === 'events') digest.add(message);
      yield [kind, message];
    }
  }
}

const empty = (): CliFailure =>
  conflict(
    'cli.handover-log-empty',
    'The log of this installation has no events',
    'Cancel (fairlead handover cancel), and name the data folder of the installation that has the clusters.',
  );

const withoutGaps = ({ messages, firstSeq, lastSeq }: LogState): void => {
  if (messages === lastSeq && (messages === 0 || firstSeq === 1)) return;
  throw conflict(
    'cli.handover-log-incomplete',
    `The log has ${messages} events up to sequence ${lastSeq}: some are missing, so their sequences could not be kept`,
    'Restore the installation from a backup, or cancel: fairlead handover cancel.',
  );
};

const newSigningSeed = (): string => Buffer.from(createUser().getSeed()).toString('utf8');

/**
 * Closes the log of the source for all writers, waits until its services have stopped, and writes all data to a file.
 */
export const exportInstallation = async (
  source: Installation,
  { target, file }: { readonly target: string; readonly file: string },
  fresh: Fresh,
): Promise<{ readonly id: string; readonly events: number; readonly source: string }> => {
  const { record, kept } = await fence(source, target, fresh);
  // The handover may have been started by an earlier release.
  const { signingSeed = newSigningSeed() } = kept;
  if (kept.signingSeed === undefined) source.keep({ ...kept, signingSeed });
  const signer = fromSeed(Buffer.from(signingSeed)).getPublicKey();
  await source.quiet();
  const state = await source.state();
  withoutGaps(state);
  if (state.messages === 0) throw empty();
  const sender = createCurve();
  const keys = Buffer.from(JSON.stringify(await source.ownerKeys()));
  const digest = new LogDigest();
  const header: Header = {
    format: 'fairlead-handover.v2',
    id: record.id,
    target: record.target,
    lock: record.lock,
    at: record.at,
    epoch: record.epoch,
    events: state.messages,
    sender: sender.getPublicKey(),
    source: signer,
    keys: Buffer.from(sender.seal(keys, target)).toString('base64'),
  };
  await writeHandover(file, { header, content: contentOf(source, digest), seed: signingSeed });
  if (digest.events !== state.messages) throw new Error(`${digest.events} events were read of ${state.messages}`);
  source.keep({ ...kept, signingSeed, exported: { events: digest.events, digest: digest.value() } });
  return { id: record.id, events: digest.events, source: signer };
};

const keysIn = (target: Installation, { keys, sender }: Header): Readonly<Record<string, string>> => {
  const opened = fromCurveSeed(target.seed()).open(Buffer.from(keys, 'base64'), sender);
  if (opened !== null) return OwnerKeysText.parse(JSON.parse(Buffer.from(opened).toString('utf8')));
  throw new CliFailure('failed', {
    code: 'cli.handover-keys-unreadable',
    message: 'The keys of secrets in the file do not open: it was changed',
    help: 'Export again.',
  });
};

const importRecord = ({ id, target, lock, at, epoch, events }: Header): Omit<HandoverRecord, 'state'> => ({
  id,
  target,
  lock,
  at,
  epoch: epoch + 1,
  events,
});

/** The events of an interrupted import must be a prefix of the file. */
const appendEvents = async (target: Installation, file: string, present: number): Promise<void> => {
  const there = new LogDigest();
  for await (const message of target.messages('events')) there.add(message);
  if (there.events !== present) throw new Error(`${there.events} events were read of ${present}`);
  const before = new LogDigest();
  const check = (): void => {
    if (before.events === present && before.value() !== there.value()) throw differs();
  };
  check();
  let seq = 0;
  for await (const message of messagesIn(file, 'events')) {
    seq += 1;
    if (seq > present) {
      await target.append(seq - 1, message);
      continue;
    }
    before.add(message);
    check();
  }
};

const differs = (): CliFailure =>
  conflict(
    'cli.handover-target-differs',
    'The log of this installation is not the beginning of the one in the file',
    'Use a new data folder.',
  );

/** The number and the digest of the target's events. */
const readBack = async (target: Installation): Promise<LogDigest> => {
  const digest = new LogDigest();
  for await (const message of target.messages('events')) digest.add(message);
  return digest;
};

/**
 * Imports the file into an empty installation, whose log is then closed. Returns the receipt. `source` is the key that
 * the export printed; a file that is signed with another key is refused.
 */
export const importInstallation = async (
  target: Installation,
  { file, source }: { readonly file: string; readonly source: string },
): Promise<{ readonly id: string; readonly events: number; readonly receipt: string }> => {
  const header = await checkHandover(file, source.trim());
  const { record, messages } = await target.state();
  if (record === undefined && messages > 0) throw notEmpty(messages);
  if (record !== undefined && (record.id !== header.id || record.state === 'fenced' || record.state === 'released'))
    throw alreadyUsed(record);
  if (fromCurveSeed(target.seed()).getPublicKey() !== header.target) throw otherInstallation(header.target);
  const known = importRecord(header);
  if (record === undefined || record.state === 'importing') {
    const keys = keysIn(target, header);
    await target.begin({ state: 'importing', ...known });
    // Before the secrets: a start refuses secrets without their keys.
    await target.putOwnerKeys(keys);
    await appendEvents(target, file, messages);
    for (const kind of ['secrets', 'snapshots'] as const) await target.replace(kind, messagesIn(file, kind));
    await target.close({ state: 'imported', ...known });
  }
  if (record?.state === 'active') throw alreadyUsed(record);
  const digest = await readBack(target);
  if (digest.events !== header.events) throw differs();
  return { id: header.id, events: digest.events, receipt: receiptOf(header.id, digest.value()) };
};

const otherInstallation = (target: string): CliFailure =>
  conflict(
    'cli.handover-other-installation',
    `The file is for ${target}, which is not this installation`,
    'Run "fairlead handover prepare" here, and export with the key that it prints.',
  );

/**
 * Releases the installation permanently: its log can never be opened again, and the returned code opens that of the
 * target. Idempotent.
 */
export const releaseSource = async (source: Installation, receipt: string): Promise<{ readonly code: string }> => {
  const { record, messages, sealed } = await source.state();
  const kept = source.readKept();
  if (record === undefined || (record.state !== 'fenced' && record.state !== 'released')) throw notSource();
  if (kept?.id !== record.id) throw withoutCode();
  if (record.state === 'released' && sealed) return { code: kept.code };
  const { exported } = kept;
  if (exported === undefined || receipt.trim() !== receiptOf(record.id, exported.digest)) throw wrongReceipt();
  // An earlier release of Fairlead, which does not know the fence, may have opened it.
  await source.close({ ...record, state: 'fenced' });
  if (messages !== exported.events || (await source.state()).messages !== exported.events) throw grown();
  await source.seal({ ...record, state: 'released' });
  if (!(await source.state()).sealed) throw new Error('NATS has not sealed the log');
  return { code: kept.code };
};

const wrongReceipt = (): CliFailure =>
  conflict(
    'cli.handover-receipt-wrong',
    'This is not the receipt of what was exported last',
    'Give the receipt that "fairlead handover import" printed; after another export, import the new file first.',
  );

const grown = (): CliFailure =>
  conflict(
    'cli.handover-log-grown',
    'Events were added after the export',
    'Export again, and import the new file into a new data folder.',
  );

/** Opens the log of the target if the source has released it. Idempotent. */
export const activateTarget = async (target: Installation, code: string): Promise<HandoverRecord> => {
  const { record } = await target.state();
  if (record === undefined || record.state === 'fenced' || record.state === 'released') throw notImported();
  if (record.state === 'importing') throw importNotOver();
  if (lockOf(code.trim()) !== record.lock) throw wrongCode();
  const active: HandoverRecord = { ...record, state: 'active' };
  if (record.state === 'imported') await target.open(active);
  target.forgetSeed();
  return active;
};

const notImported = (): CliFailure =>
  conflict(
    'cli.handover-not-imported',
    'No other installation was imported here',
    'Import first: fairlead handover import <file>.',
  );

const importNotOver = (): CliFailure =>
  conflict(
    'cli.handover-import-interrupted',
    'The import has not ended',
    'Run "fairlead handover import" again; it continues.',
  );

const wrongCode = (): CliFailure =>
  conflict(
    'cli.handover-code-wrong',
    'This is not the code of the source',
    'Give the code that "fairlead handover release" printed at the source.',
  );

/** Opens the log of the source again, unless it was released. Idempotent. */
export const cancelHandover = async (source: Installation): Promise<{ readonly changed: boolean }> => {
  const { record, sealed } = await source.state();
  if (record?.state === 'released' || sealed) throw wasReleased();
  if (record?.state !== 'fenced') {
    if (record !== undefined && record.state !== 'active') throw notSource();
    return { changed: false };
  }
  await source.open(record.before);
  source.keep(undefined);
  return { changed: true };
};
