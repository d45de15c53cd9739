import {
  mirrorPaths,
  releaseOf,
  type Architecture,
  type KubernetesRelease,
  type MirrorRelease,
} from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import * as z from 'zod';
import type { HostPort } from '../node/host.ports.js';
import type { HostFiles } from '../files/files.ports.js';
import { mustRun, replaceFile, type Item } from './item.js';
import type { Mirror } from './mirror.js';

const ITEM = 'cni-plugins';
const FOLDER = '/opt/cni/bin';
const UNPACKED = '/opt/cni/.fairlead-new';
const RECORD = '/var/lib/fairlead/cni-plugins.json';
const UNPACK_TIMEOUT_MS = 120_000;

/** The extracted files and the state of each: the contents of an archive are not known without reading it. */
const Record = z.object({ archive: z.string(), sha256: z.string(), files: z.record(z.string(), z.string()) });
type Record = z.infer<typeof Record>;

const archiveOf = (listed: MirrorRelease | undefined, { version, releases, architecture }: CniOptions): string =>
  listed?.cniPlugins ?? mirrorPaths.cniPlugins(releaseOf(version, releases)?.cniPlugins ?? 'v1.9.1', architecture);

export interface CniOptions {
  readonly host: HostPort;
  readonly files: HostFiles;
  readonly mirror: Mirror;
  readonly architecture: Architecture;
  /** For example `v1.34.4`. */
  readonly version: string;
  /** Releases that are not built in. */
  readonly releases?: readonly KubernetesRelease[] | undefined;
}

/** Names and SHA-256 of about twenty files. */
const RECORD_LENGTH_MAX = 65_536;

export const parseRecord = (text: string): Record | undefined =>
  Record.safeParse(parseJson(text, { lengthMax: RECORD_LENGTH_MAX })).data;

/** The plugins of the CNI project; other plugins in the same folder are kept. */
export const cniItem = (options: CniOptions): Item => {
  const { host, files, mirror, version } = options;
  const read = async (): Promise<Record | undefined> => {
    const text = await host.readFile(RECORD);
    return text === undefined ? undefined : parseRecord(text);
  };

  const intact = async ({ files: recorded }: Record): Promise<boolean> => {
    const now = await Promise.all(
      Object.entries(recorded).map(async ([name, identity]) => {
        return (await files.stat(`${FOLDER}/${name}`))?.identity === identity;
      }),
    );
    return now.every(Boolean);
  };

  return {
    name: ITEM,

    inspect: async () => {
      const archive = archiveOf(await mirror.release(version), options);
      const record = await read();
      if (record !== undefined && record.archive === archive && (await intact(record))) return [];
      const observed = record === undefined ? 'missing' : record.archive === archive ? 'changed' : record.archive;
      return [{ item: ITEM, what: ITEM, observed, desired: archive }];
    },

    ensure: async () => {
      const archive = archiveOf(await mirror.release(version), options);
      const readable = await mirror.readable(archive);
      await files.remove(UNPACKED);
      await files.makeFolder(UNPACKED);
      await files.makeFolder(FOLDER);
      const into = ['-xzf', readable.path, '-C', files.at(UNPACKED), '--no-same-owner'];
      await mustRun(host, 'tar', into, UNPACK_TIMEOUT_MS);
      const recorded: { [name: string]: string } = {};
      for (const name of await files.list(UNPACKED)) {
        await host.rename(`${UNPACKED}/${name}`, `${FOLDER}/${name}`);
        recorded[name] = (await files.stat(`${FOLDER}/${name}`))?.identity ?? '';
      }
      await files.remove(UNPACKED);
      await readable.release();
      const record: Record = { archive, sha256: await mirror.sha256Of(archive), files: recorded };
      await replaceFile(host, RECORD, `${JSON.stringify(record)}\n`, 0o644);
    },
  };
};
