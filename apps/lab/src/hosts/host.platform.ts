import type { HostShell } from '../ssh/host.shell.js';
import type { Host } from './host.js';
import type { HostFacts, HostRecord } from './host.record.js';

/** A host with everything that runs it, in full or in light mode. */
export interface RunningHost {
  readonly host: Host;
  readonly shell: HostShell;
  /** Makes the host ready to run programs. To be called once, before it boots or resumes. */
  open(): Promise<void>;
  /** Ends whatever still runs on the host, whoever started it. */
  killAll(): Promise<void>;
  /** Programs stand still, as if the network were cut and nothing got through; `thaw` lets them go on. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Ends everything and releases the host's resources, but keeps its files. */
  close(): Promise<void>;
  /** Removes the host's files. */
  destroy(): Promise<void>;
  /** Files to be stored with the machine; undefined where they are on disk anyway. */
  storedFiles(): unknown;
}

/** Makes hosts of one kind. `changed` is called when something that must be stored has changed. */
export interface HostPlatform {
  create(facts: HostFacts, record: HostRecord, options: HostOptions): Promise<RunningHost>;
}

export interface HostOptions {
  /** The host has never booted: its files are those of a fresh image. */
  readonly fresh: boolean;
  /** What `storedFiles` gave before a restart of the lab. */
  readonly storedFiles: unknown;
  readonly changed: () => void;
}
