import { RefusalError } from '../http/refusal.error.js';
import { refuse } from '@fairlead/contracts';
import { installScript } from '@fairlead/node-scripts';
import { Inject, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { machine } from 'node:os';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { SETTINGS, type Settings } from '../config.js';

const LEVEL = 4;

const sha256Of = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

interface JoinFile {
  readonly content: Buffer;
  readonly sha256: string;
}

/** What a host downloads before it joins: the script, the agent, and a Node runtime for hosts without one. Each is read once. */
@Injectable()
export class JoinFiles {
  private readonly read = new Map<string, Promise<JoinFile>>();

  constructor(@Inject(SETTINGS) private readonly settings: Pick<Settings, 'agentBundle'>) {}

  agent(): Promise<JoinFile> {
    const { agentBundle } = this.settings;
    if (agentBundle === undefined) throw new RefusalError(refuse('join.not-served'));
    return this.once('agent', () => readFile(agentBundle));
  }

  /** In gzip. */
  runtime(): Promise<JoinFile> {
    return this.once('runtime', async () => promisify(gzip)(await readFile(process.execPath), { level: LEVEL }));
  }

  script(): Promise<JoinFile> {
    return this.once('script', async () => {
      const [agent, runtime] = [await this.agent(), await this.runtime()];
      const text = installScript({
        agentSha256: agent.sha256,
        runtime: { sha256: runtime.sha256, machine: machine() },
      });
      return Buffer.from(text);
    });
  }

  private once(name: string, read: () => Promise<Buffer>): Promise<JoinFile> {
    const known = this.read.get(name);
    if (known !== undefined) return known;
    const reading = read().then((content) => ({ content, sha256: sha256Of(content) }));
    this.read.set(name, reading);
    reading.catch(() => this.read.delete(name));
    return reading;
  }
}
