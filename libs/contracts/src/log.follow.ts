import * as z from 'zod';
import { UNIX_SECONDS_MAX } from './time.js';

/** The cursor that journalctl prints after its entries. */
const JOURNAL_CURSOR = /^[A-Za-z0-9=;:_-]{1,400}$/;
/** Base64 of the bytes that one read may return. */
const TEXT_LENGTH_MAX = 512 * 1_024;

/** The position up to which a log has been read. */
export const LogPosition = z.strictObject({
  cursor: z.string().regex(JOURNAL_CURSOR).nullable().describe('null: nothing was logged before'),
  time: z
    .int()
    .min(0)
    .max(UNIX_SECONDS_MAX)
    .describe('When it was read, by the clock of the node, in seconds since 1970'),
});
export type LogPosition = z.infer<typeof LogPosition>;

/** Sent every few seconds by the gateway to bootstrap-svc while it follows a log for a reader. */
export const LogAsk = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('read'), number: z.int().min(1), after: LogPosition.nullable() }),
  z.strictObject({ type: z.literal('wait') }).describe('The reader is there, and takes nothing at present'),
  z.strictObject({ type: z.literal('end') }).describe('The reader has gone'),
]);
export type LogAsk = z.infer<typeof LogAsk>;

/** The response to the `read` of that number. */
export const LogLines = z.strictObject({
  number: z.int().min(1),
  /** Base64, because it may be binary. */
  text: z.base64().max(TEXT_LENGTH_MAX),
  skipped: z.int().min(0),
  position: LogPosition,
});
export type LogLines = z.infer<typeof LogLines>;

/** Why a stream of lines ended, unless its connection broke. */
export type LogEndReason = 'time-limit' | 'failed' | 'stopped';
