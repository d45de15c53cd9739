import type { HostShell } from '../ssh/host.shell.js';
import type { Host } from './host.js';
import type { HostFacts, HostRecord } from './host.record.js';

/** A host with its shell and processes, in full or in light mode. */
export interface RunningHost {
  readonly host: Host;
  readonly shell: HostShell;
  /** Prepares the host to run programs. Must be called once, before it boots or resumes. */
  open(): Promise<void>;
  /** Kills every process on the host. */
  killAll(): Promise<void>;
  /** Suspends all programs, which simulates a network partition; `thaw` resumes them. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Stops everything and releases the host's resources, but keeps its files. */
  close(): Promise<void>;
  /** Removes the host's files. */
  destroy(): Promise<void>;
  /** Files to store with the machine; undefined if they are on disk already. */
  storedFiles(): unknown;
}

/** Creates hosts of one kind. `changed` is called when a change must be stored. */
export interface HostPlatform {
  create(facts: HostFacts, record: HostRecord, options: HostOptions): Promise<RunningHost>;
}

export interface HostOptions {
  /** Whether the host has never booted: its files are those of a fresh image. */
  readonly fresh: boolean;
  /** The result of `storedFiles` before a restart of the lab. */
  readonly storedFiles: unknown;
  readonly changed: () => void;
}
