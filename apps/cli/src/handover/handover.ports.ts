import type { HandoverRecord } from '@fairlead/contracts';
import type { LogState } from '@fairlead/event-sourcing/streams';

/** What is moved: the log, the sealed secrets, the sealed snapshots of etcd. */
export const MOVED = ['events', 'secrets', 'snapshots'] as const;
export type Moved = (typeof MOVED)[number];

/** A stored message as it is copied. */
export interface Message {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

/** What a source keeps in its data folder, and nowhere else. */
export interface KeptBySource {
  readonly id: string;
  readonly target: string;
  /** Opens the log of the target. */
  readonly code: string;
  /** Seed of the key that signs the exported files; absent: of a handover that an earlier release began. */
  readonly signingSeed?: string;
  /** Of the last export that ended: how many events, and their digest. */
  readonly exported?: { readonly events: number; readonly digest: string };
}

/** One installation, as its administrator reaches it. */
export interface Installation {
  state(): Promise<LogState>;
  close(record: HandoverRecord): Promise<void>;
  seal(record: HandoverRecord): Promise<void>;
  open(record: HandoverRecord | undefined): Promise<void>;
  /** Records that an import is under way; the log takes as many events as that brings. */
  begin(record: HandoverRecord): Promise<void>;
  /** Resolves when no service but the gateway has given a sign of life for a while. */
  quiet(): Promise<void>;
  messages(of: Moved): AsyncIterable<Message>;
  /** Adds an event after the one with that sequence; fails if that is not the last. */
  append(afterSeq: number, message: Message): Promise<void>;
  /** Secrets or snapshots: whatever was there is replaced. */
  replace(of: Exclude<Moved, 'events'>, messages: AsyncIterable<Message>): Promise<void>;
  /** The keys of secrets, in the clear, base64. */
  ownerKeys(): Promise<Readonly<Record<string, string>>>;
  putOwnerKeys(keys: Readonly<Record<string, string>>): Promise<void>;
  readKept(): KeptBySource | undefined;
  keep(kept: KeptBySource | undefined): void;
  /** The private half of the key to which a source seals; made when it is first asked for. */
  seed(): Uint8Array;
  forgetSeed(): void;
}
