import { HandoverRecord, HandoverTarget } from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import * as z from 'zod';
import type { Message, Moved } from './handover.ports.js';

/*
 * The format of a handover file before compression: one JSON value per line. The first line is the header, followed by
 * a line per message, and at the end their number, the SHA-256 of all earlier lines, and the signature of the source.
 */

/** A NATS message in Base64, with its subject: nats-server accepts 1 MiB. */
export const LINE_BYTES_MAX = 2 * 1024 * 1024;
/** An Ed25519 signature in Base64. */
const SIGNATURE_LENGTH = 88;
const KEYS_BYTES_MAX = LINE_BYTES_MAX - 4_096;

const { id, lock, at, epoch } = HandoverRecord.shape;

/** The public key with which a source signs its files (an NKey of type user). */
export const HandoverSource = z.string().regex(/^U[A-Z2-7]{55}$/);

export const Header = z.strictObject({
  format: z.literal('fairlead-handover.v2'),
  id,
  target: HandoverTarget,
  lock,
  at,
  epoch: epoch.describe('Of the source'),
  events: z.int().min(0),
  sender: HandoverTarget.describe('Public key of the pair that was made to seal the keys'),
  source: HandoverSource.describe('Public key that verifies the signature at the end'),
  keys: z.base64().max(KEYS_BYTES_MAX).describe('The keys of secrets, sealed to the target'),
});
export type Header = z.infer<typeof Header>;

export const OwnerKeysText = z.record(z.string().regex(/^[\w-]+\.key\.[\w.-]+$/), z.base64().min(44).max(88));

/** Headers with a meaning for readers. The headers of write conditions would be evaluated again. */
export const COPIED_HEADERS = ['Nats-Msg-Id', 'KV-Operation', 'Nats-Rollup'] as const;

const SUBJECTS: Readonly<Record<Moved, RegExp>> = {
  events: /^evt\.[^\s*>]+$/,
  secrets: /^\$KV\.SECRETS\.[^\s*>]+$/,
  snapshots: /^\$O\.SNAPSHOTS\.[^\s*>]+$/,
};

const MessageLine = z.tuple([
  z.enum(['events', 'secrets', 'snapshots']),
  z.string().max(2_048),
  z.partialRecord(z.enum(COPIED_HEADERS), z.string().max(512)),
  z.base64(),
]);

const EndLine = z.strictObject({
  messages: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  signature: z.base64().length(SIGNATURE_LENGTH),
});
export type End = z.infer<typeof EndLine>;

export type Line =
  | { readonly kind: 'message'; readonly of: Moved; readonly message: Message }
  | { readonly kind: 'end'; readonly end: End };

export const messageLine = (of: Moved, { subject, headers, data }: Message): string =>
  JSON.stringify([of, subject, headers, Buffer.from(data).toString('base64')]);

/** The text that a source signs, with a prefix that is unique to this purpose. */
export const signedText = (sha256: string): Uint8Array => Buffer.from(`fairlead-handover.v2 ${sha256}`);

export const endLine = (end: End): string => JSON.stringify(end);

/** Throws if a line is neither of them. */
export const parseLine = (text: string): Line => {
  const value = parseJson(text, { lengthMax: LINE_BYTES_MAX });
  if (!Array.isArray(value)) return { kind: 'end', end: EndLine.parse(value) };
  const [of, subject, headers, data] = MessageLine.parse(value);
  if (!SUBJECTS[of].test(subject)) throw new Error(`${subject} is no subject of ${of}`);
  return { kind: 'message', of, message: { subject, headers, data: Buffer.from(data, 'base64') } };
};
