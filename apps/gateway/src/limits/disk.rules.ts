import type { Recording } from '../http/documented.js';

/** Storage of JetStream, as it counts it itself. */
export interface Storage {
  readonly usedBytes: number;
  /** undefined: without a limit. */
  readonly maxBytes: number | undefined;
}

/** What is known of the room that is left to the log; each undefined where it is unknown. */
export interface DiskSpace {
  /** Of the services' account (`$JS.API.INFO`). */
  readonly account: Storage | undefined;
  /** Of the server (`/jsz` of its monitoring): `max_file_store`. */
  readonly server: Storage | undefined;
  /** Of the file system of its store. */
  readonly diskFreeBytes: number | undefined;
}

const freeOf = (storage: Storage | undefined): number | undefined =>
  storage?.maxBytes === undefined ? undefined : Math.max(0, storage.maxBytes - storage.usedBytes);

/** What may still be written before one of them stops the log; undefined: not known. */
export const roomBytes = ({ account, server, diskFreeBytes }: DiskSpace): number | undefined => {
  const known = [freeOf(account), freeOf(server), diskFreeBytes].filter((bytes) => bytes !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export const bytesText = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${UNITS[power]}`;
};

/** Whether a request begins something that the log would grow by. What ends or stops work, and what reads, is never refused. */
export const begins = (records: Recording): boolean => records === 'work';
