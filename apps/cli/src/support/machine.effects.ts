import { isAlive } from '@fairlead/embedded';
import { availableParallelism, freemem, loadavg, platform, release, totalmem, uptime } from 'node:os';
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { errorCodeOf } from '@fairlead/contracts';
import { wordsOf } from '../failures.js';
import type { Instance } from '../instance/instance.store.js';
import { VERSION } from '../version.js';

const OS_RELEASE = '/etc/os-release';

/** What a fault of an instance often follows from: a full disk, too little memory, a process that has ended. */
export const machineFacts = async (instance: Instance): Promise<unknown> => {
  const { server, startedAt, version, dataDir, process: of } = instance;
  return {
    instance: { server, startedAt, version, client: VERSION, runs: isAlive(of) },
    system: { platform: platform(), kernel: release(), distribution: distribution(), node: process.version },
    cpus: availableParallelism(),
    load: loadavg(),
    uptimeSeconds: Math.round(uptime()),
    memory: { totalBytes: totalmem(), freeBytes: freemem() },
    dataFolder: { path: dataDir, ...(await spaceOf(dataDir)) },
  };
};

const distribution = (): string => {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync(OS_RELEASE, 'utf8'))?.[1] ?? '';
  } catch (error) {
    if (errorCodeOf(error) === undefined) throw error;
    return '';
  }
};

const spaceOf = async (folder: string): Promise<Readonly<Record<string, unknown>>> => {
  try {
    const { bsize, blocks, bavail, files, ffree } = await statfs(folder);
    return { totalBytes: bsize * blocks, freeBytes: bsize * bavail, totalInodes: files, freeInodes: ffree };
  } catch (error) {
    return { problem: wordsOf(error) };
  }
};
