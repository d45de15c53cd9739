import type { HandoverRecord } from '@fairlead/contracts';
import type { LogState } from '@fairlead/event-sourcing/streams';

/** The data that is moved: the log, the sealed secrets, and the sealed snapshots of etcd. */
export const MOVED = ['events', 'secrets', 'snapshots'] as const;
export type Moved = (typeof MOVED)[number];

/** A stored message as it is copied. */
export interface Message {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

/** Stored only in the data folder of the source. */
export interface KeptBySource {
  readonly id: string;
  readonly target: string;
  /** Opens the log of the target. */
  readonly code: string;
  /** The seed of the key that signs the exported files; absent if an earlier release started the handover. */
  readonly signingSeed?: string;
  /** The result of the last complete export: the number of events, and their digest. */
  readonly exported?: { readonly events: number; readonly digest: string };
}

/** Administrative access to one installation. */
export interface Installation {
  state(): Promise<LogState>;
  close(record: HandoverRecord): Promise<void>;
  seal(record: HandoverRecord): Promise<void>;
  open(record: HandoverRecord | undefined): Promise<void>;
  /** Records that an import is in progress; the log accepts as many events as the import contains. */
  begin(record: HandoverRecord): Promise<void>;
  /** Resolves when no service except the gateway has sent a heartbeat for some time. */
  quiet(): Promise<void>;
  messages(of: Moved): AsyncIterable<Message>;
  /** Appends an event after the one with that sequence; fails if that is not the last one. */
  append(afterSeq: number, message: Message): Promise<void>;
  /** Replaces all secrets or snapshots. */
  replace(of: Exclude<Moved, 'events'>, messages: AsyncIterable<Message>): Promise<void>;
  /** The unencrypted keys of secrets, base64. */
  ownerKeys(): Promise<Readonly<Record<string, string>>>;
  putOwnerKeys(keys: Readonly<Record<string, string>>): Promise<void>;
  readKept(): KeptBySource | undefined;
  keep(kept: KeptBySource | undefined): void;
  /** The private half of the key to which a source seals; created on first use. */
  seed(): Uint8Array;
  forgetSeed(): void;
}
