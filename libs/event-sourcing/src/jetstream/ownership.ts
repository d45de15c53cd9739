import { HANDOVER_METADATA, HandoverRecord, STREAMS, ExternalFailure } from '@fairlead/contracts';
import { jetstreamManager, type StreamUpdateConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import * as z from 'zod';
import { EVENT_MAX_BYTES } from './stores.js';

/*
 * The stream records in its metadata who holds the log, and enforces it: a closed log rejects events of every writer.
 */

/** Smaller than any event. */
const NOTHING_BYTES = 1;
const ANSWER_TIMEOUT_MS = 5_000;

const StreamInfo = z.object({
  config: z.object({
    metadata: z.record(z.string(), z.string()).optional(),
    sealed: z.boolean().optional(),
    max_msg_size: z.number(),
  }),
  state: z.object({ messages: z.number(), first_seq: z.number(), last_seq: z.number() }),
});

export interface LogState {
  /** undefined: the log was never handed over. */
  readonly record: HandoverRecord | undefined;
  readonly messages: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Sealed by NATS: it can never be opened again. */
  readonly sealed: boolean;
}

const unreadable = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read who holds the log', target: STREAMS.events, message });

/** undefined: none. Throws if a newer release wrote it: then it is unknown whether the log may be used. */
export const handoverIn = (metadata: Readonly<Record<string, string>> | undefined): HandoverRecord | undefined => {
  const text = metadata?.[HANDOVER_METADATA];
  if (text === undefined) return undefined;
  const parsed = HandoverRecord.safeParse(safeJson(text));
  if (!parsed.success) throw unreadable('its metadata have a record that this release does not know');
  return parsed.data;
};

const safeJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** For every service: requires only the permission to read the stream's info. */
export const readLogState = async (nc: NatsConnection): Promise<LogState> => {
  const answer = await nc.request(`$JS.API.STREAM.INFO.${STREAMS.events}`, undefined, { timeout: ANSWER_TIMEOUT_MS });
  const parsed = StreamInfo.safeParse(answer.json());
  if (!parsed.success) throw unreadable('the stream does not exist yet');
  const { config, state } = parsed.data;
  return {
    record: handoverIn(config.metadata),
    messages: state.messages,
    firstSeq: state.first_seq,
    lastSeq: state.last_seq,
    sealed: config.sealed === true,
  };
};

type Change = Partial<Pick<StreamUpdateConfig, 'max_msg_size' | 'max_msgs'>> & { readonly sealed?: true };

const UNLIMITED = -1;

/** One request: the record and its enforcement change together. */
const update = async (nc: NatsConnection, record: HandoverRecord | undefined, change: Change): Promise<void> => {
  const jsm = await jetstreamManager(nc);
  const { config } = await jsm.streams.info(STREAMS.events);
  if (config.sealed)
    throw new ExternalFailure({
      operation: 'change who holds the log',
      target: STREAMS.events,
      message: 'the log is sealed: another installation has taken it over',
      retryable: false,
    });
  const { [HANDOVER_METADATA]: _before, ...others } = config.metadata ?? {};
  const metadata = { ...others, ...(record === undefined ? {} : { [HANDOVER_METADATA]: JSON.stringify(record) }) };
  await jsm.streams.update(STREAMS.events, { ...change, metadata } as Partial<StreamUpdateConfig>);
};

/** Requires an administrator's credential, like the functions below. From now on no event is added. */
export const closeLog = (nc: NatsConnection, record: HandoverRecord): Promise<void> =>
  update(nc, record, { max_msg_size: NOTHING_BYTES });

/** For a closed log. NATS never opens it again. */
export const sealLog = (nc: NatsConnection, record: HandoverRecord): Promise<void> =>
  update(nc, record, { max_msg_size: NOTHING_BYTES, sealed: true });

/** An empty log accepts exactly the events of the record, and none after them. */
export const beginLog = (nc: NatsConnection, record: HandoverRecord): Promise<void> =>
  update(nc, record, { max_msg_size: EVENT_MAX_BYTES, max_msgs: record.events });

export const openLog = (nc: NatsConnection, record: HandoverRecord | undefined): Promise<void> =>
  update(nc, record, { max_msg_size: EVENT_MAX_BYTES, max_msgs: UNLIMITED });
