import type { AgentConfig } from '@fairlead/contracts';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import type { Blobs } from '../files/blobs.js';

/** The result of a command, as passed to the agent. */
export interface AgentCommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The host interface of the agent's program (HostPort of apps/node-agent; the program itself is loaded at run time).
 */
export interface AgentHost {
  at(path: string): string;
  run(command: string, args: readonly string[], options: { readonly timeoutMs: number }): Promise<AgentCommandResult>;
  readFile(path: string): Promise<string | undefined>;
  writeFile(path: string, text: string, mode: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  watch(folder: string, onChange: () => void): Promise<(() => void) | undefined>;
  bootId(): Promise<string>;
  bootedAt(): Promise<Date>;
  osRelease(): Promise<string>;
  kernel(): Promise<string>;
}

/** How the agent observes virtual addresses (AddressLooks of apps/node-agent). */
export interface AddressLooks {
  stats(): Promise<string | undefined>;
  connects(address: string, port: number): Promise<boolean>;
  own(): ReadonlySet<string>;
}

export interface AgentStart {
  readonly config: AgentConfig;
  readonly host: AgentHost;
  readonly addressLooks: AddressLooks;
  readonly credentials: string;
  readonly log: (level: string, message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

export interface StartedAgent {
  stop(): Promise<void>;
}

export type StartAgent = (start: AgentStart) => Promise<StartedAgent>;

const AgentModule = z.object({
  startAgent: z.custom<StartAgent>((value) => typeof value === 'function', 'it has no function startAgent'),
});

/** Agent programs that were copied to light hosts, loaded into this process once per content. */
export class AgentPrograms {
  private readonly loaded = new Map<string, Promise<StartAgent>>();

  constructor(
    private readonly folder: string,
    private readonly blobs: Blobs,
  ) {}

  /** Rejects if the content is not an agent. */
  load(content: Buffer): Promise<StartAgent> {
    const checksum = this.blobs.nameOf(content);
    const loaded = this.loaded.get(checksum) ?? this.import(checksum, content);
    this.loaded.set(checksum, loaded);
    return loaded;
  }

  private async import(checksum: string, content: Buffer): Promise<StartAgent> {
    const file = join(this.folder, `${checksum}.mjs`);
    if (!existsSync(file)) {
      mkdirSync(this.folder, { recursive: true });
      writeFileSync(`${file}.new`, content);
      renameSync(`${file}.new`, file);
    }
    const module: unknown = await import(pathToFileURL(file).href);
    return AgentModule.parse(module).startAgent;
  }
}
