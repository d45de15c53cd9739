import * as z from 'zod';
import { Time } from './time.js';

/**
 * The metadata key of the stream EVENTS that records which installation holds the log; absent: this one, since its
 * first start.
 */
export const HANDOVER_METADATA = 'fairlead-handover';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The public key of an X25519 pair, for which the keys of secrets are sealed. */
export const HandoverTarget = z
  .string()
  .regex(/^X[A-Z2-7]{55}$/)
  .describe('Public key of the installation that takes over');
export type HandoverTarget = z.infer<typeof HandoverTarget>;

/**
 * `fenced`, then `released` at the source; `importing`, `imported`, then `active` at the target. The log is writable
 * only before the first handover, and while it is `active`.
 */
export const HANDOVER_STATES = ['fenced', 'released', 'importing', 'imported', 'active'] as const;
export type HandoverState = (typeof HANDOVER_STATES)[number];

const fields = {
  id: z.uuid(),
  target: HandoverTarget,
  lock: Sha256.describe('SHA-256 of the code that the source reveals when it can no longer open its log'),
  at: Time,
  epoch: z.int().min(1).max(1_000_000).describe('One more than that of the installation that was taken over'),
  events: z.int().min(0).describe('How many events were taken over; of a source: until it took over itself, or 0'),
};

export const HandoverRecord = z.strictObject({
  state: z.enum(HANDOVER_STATES),
  ...fields,
  /** If the source had itself taken over another installation: its record from then, which a cancellation restores. */
  before: z.strictObject({ state: z.literal('active'), ...fields }).optional(),
});
export type HandoverRecord = z.infer<typeof HandoverRecord>;

/** The epoch before any handover. */
export const FIRST_EPOCH = 1;

/** Whether the installation acts on clusters and accepts commands. */
export const holdsLog = (record: HandoverRecord | undefined): boolean =>
  record === undefined || record.state === 'active';

/** Whether another installation took it over, or will; its history stays readable. */
export const isSource = (record: HandoverRecord | undefined): record is HandoverRecord =>
  record !== undefined && (record.state === 'fenced' || record.state === 'released');

export const epochOf = (record: HandoverRecord | undefined): number => record?.epoch ?? FIRST_EPOCH;

const WORDS: Readonly<Record<Exclude<HandoverState, 'active'>, string>> = {
  fenced:
    'it is being handed over to another installation; "fairlead handover release" completes that, and "fairlead handover cancel" ends it',
  released: 'another installation has taken its clusters over for good; here, only reads are answered',
  importing: 'the import of another installation has not ended; run "fairlead handover import" again',
  imported: 'it has not been activated; run "fairlead handover activate" with the code of the source',
};

/** Why an installation that does not hold its log is inactive. */
export const handoverWords = ({ state, id }: HandoverRecord): string =>
  state === 'active' ? `handover ${id} is complete` : `handover ${id}: ${WORDS[state]}`;
