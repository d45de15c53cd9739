import {
  INNER_SERVICES,
  aliveSubject,
  SECRET_KEYS_BUCKET,
  SECRETS_BUCKET,
  SNAPSHOTS_BUCKET,
  STREAMS,
} from '@fairlead/contracts';
import { readIfAny, writeDurably } from '@fairlead/embedded';
import { openOwnerKey, parseMasterKeys, sealOwnerKey, type MasterKeys } from '@fairlead/embedded/credentials';
import { beginLog, closeLog, openLog, readLogState, sealLog } from '@fairlead/event-sourcing/streams';
import { jetstream, jetstreamManager, type JetStreamClient, type JsMsg } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { createCurve } from '@nats-io/nkeys';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { CliFailure } from '../failures.js';
import { natsOwnerKeys } from '../instance/owner.keys.store.js';
import { ensureKeys } from '../up/keys.store.js';
import { COPIED_HEADERS } from './handover.file.js';
import type { Installation, KeptBySource, Message, Moved } from './handover.ports.js';

const STREAM_OF: Readonly<Record<Moved, string>> = {
  events: STREAMS.events,
  secrets: `KV_${SECRETS_BUCKET}`,
  snapshots: `OBJ_${SNAPSHOTS_BUCKET}`,
};

/** Services send a heartbeat every five seconds. */
const SILENT_MS = 12_000;
const SILENT_WITHIN_MS = 90_000;
const POLL_MS = 100;

const Kept = z.strictObject({
  id: z.uuid(),
  target: z.string(),
  code: z.string(),
  signingSeed: z.string().optional(),
  exported: z.strictObject({ events: z.int(), digest: z.string() }).optional(),
});

const copied = ({ subject, headers: given, data }: JsMsg): Message => ({
  subject,
  headers: Object.fromEntries(
    COPIED_HEADERS.flatMap((name) => {
      const value = given?.get(name) ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  ),
  data,
});

async function* messagesOf(nc: NatsConnection, of: Moved): AsyncGenerator<Message> {
  const { state } = await (await jetstreamManager(nc)).streams.info(STREAM_OF[of]);
  if (state.messages === 0) return;
  const consumer = await jetstream(nc).consumers.get(STREAM_OF[of]);
  const messages = await consumer.consume();
  try {
    for await (const message of messages) {
      yield copied(message);
      if (message.info.pending === 0) return;
    }
  } finally {
    await messages.close();
  }
}

const publish = async (
  js: JetStreamClient,
  { subject, headers: given, data }: Message,
  lastSequence?: number,
): Promise<void> => {
  const header = headers();
  for (const [name, value] of Object.entries(given)) header.set(name, value);
  await js.publish(subject, data, {
    headers: header,
    ...(lastSequence === undefined ? {} : { expect: { lastSequence } }),
  });
};

/** Waits until no service except the gateway sends heartbeats. */
const untilQuiet = async (nc: NatsConnection, silentMs: number): Promise<void> => {
  let heard: { readonly service: string; readonly atMs: number } = { service: '', atMs: performance.now() };
  const subscription = nc.subscribe(aliveSubject('*'), {
    callback: (error, { subject }) => {
      const service = subject.split('.')[1] ?? '';
      if (error === null && INNER_SERVICES.some((name) => name === service))
        heard = { service, atMs: performance.now() };
    },
  });
  const deadline = performance.now() + SILENT_WITHIN_MS;
  try {
    while (performance.now() - heard.atMs < silentMs) {
      if (performance.now() > deadline) throw stillAtWork(heard.service);
      await sleep(POLL_MS);
    }
  } finally {
    subscription.unsubscribe();
  }
};

const stillAtWork = (service: string): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.handover-not-quiet',
    message: `${service} still runs, although the log is closed`,
    help: 'Stop it, and run the command again. An earlier release does not stop by itself.',
  });

const opened = (keys: MasterKeys, sealed: string, name: string): string => {
  const found = openOwnerKey(keys, sealed, name);
  if (found !== undefined) return Buffer.from(found.key).toString('base64');
  throw new CliFailure('failed', {
    code: 'cli.handover-key-unreadable',
    message: `${name} does not open with the master key of this data folder`,
    help: 'Name the data folder of this installation. After a rotation of the master key, use the folder that has the new one.',
  });
};

export interface InstallationOptions {
  readonly dataDir: string;
  /** How long services must have been silent; 0 if none can run. */
  readonly silentMs?: number;
}

/** An installation, from its data folder and a connection to its NATS with the administrator's credential. */
export const installationAt = (
  nc: NatsConnection,
  { dataDir, silentMs = SILENT_MS }: InstallationOptions,
): Installation => {
  const js = jetstream(nc);
  const keptFile = join(dataDir, 'keys', 'handover.json');
  const seedFile = join(dataDir, 'keys', 'handover.seed');
  const masterKeys = (): MasterKeys => parseMasterKeys(readIfAny(ensureKeys(dataDir).masterKeyFile) ?? '');
  return {
    state: () => readLogState(nc),
    close: (record) => closeLog(nc, record),
    seal: (record) => sealLog(nc, record),
    open: (record) => openLog(nc, record),
    begin: (record) => beginLog(nc, record),
    quiet: () => untilQuiet(nc, silentMs),
    messages: (of) => messagesOf(nc, of),
    append: (afterSeq, message) => publish(js, message, afterSeq),
    replace: async (of, messages) => {
      await (await jetstreamManager(nc)).streams.purge(STREAM_OF[of]);
      for await (const message of messages) await publish(js, message);
    },
    ownerKeys: async () => {
      const owners = await natsOwnerKeys(nc);
      const keys: Record<string, string> = {};
      for (const name of await owners.names()) {
        const entry = await owners.read(name);
        if (entry !== undefined) keys[name] = opened(masterKeys(), entry.sealed, name);
      }
      return keys;
    },
    putOwnerKeys: async (keys) => {
      const bucket = await new Kvm(nc).open(SECRET_KEYS_BUCKET);
      for (const [name, key] of Object.entries(keys))
        await bucket.put(name, sealOwnerKey(masterKeys(), Buffer.from(key, 'base64'), name));
    },
    readKept: () => {
      const text = readIfAny(keptFile);
      return text === undefined ? undefined : (Kept.parse(JSON.parse(text)) as KeptBySource);
    },
    keep: (kept) =>
      kept === undefined ? rmSync(keptFile, { force: true }) : writeDurably(keptFile, `${JSON.stringify(kept)}\n`),
    seed: () => {
      const known = readIfAny(seedFile)?.trim();
      if (known !== undefined) return Buffer.from(known);
      const made = createCurve().getSeed();
      writeDurably(seedFile, `${Buffer.from(made).toString()}\n`);
      return made;
    },
    forgetSeed: () => rmSync(seedFile, { force: true }),
  };
};
