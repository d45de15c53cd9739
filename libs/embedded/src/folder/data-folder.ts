import { errorCodeOf, wordsOf } from '@fairlead/contracts';
import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { freePorts, isPortFree, LOOPBACK } from '../process/ports.js';
import { makeFolder, readIfAny, writeWhole } from './files.js';
import { takeLock, type LockResult } from './lock.js';

/** Incremented when a newer Fairlead uses a layout that an older one would damage. */
const FOLDER_FORMAT = 1;
const MARKER = 'fairlead.json';
/** A new folder takes 60 MB; the rest is for PostgreSQL's write-ahead log and some thousand events. */
const DISK_FREE_MIN_BYTES = 256 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

export type PortName = 'nats' | 'natsMonitor' | 'postgres';
export type Ports = Readonly<Record<PortName, number>>;
const PORT_NAMES: readonly PortName[] = ['nats', 'natsMonitor', 'postgres'];

interface Marker {
  readonly format: number;
  readonly ports?: Ports;
}

export interface DataFolder {
  readonly path: string;
  /** Releases the folder for others. */
  release(): void;
}

/**
 * Locks the data folder for this process, and creates it if needed. Throws an `EnvironmentFault` if it is in use, was
 * created by a newer Fairlead, belongs to another user, is not writable, or its disk is full.
 */
export const openDataFolder = (path: string): DataFolder => {
  prepareDataFolder(path);
  const lock = lockOf(path);
  if (lock.status === 'held') {
    throw fault(
      'folder-in-use',
      path,
      `The data folder ${path} is in use by process ${lock.holder.pid}. Stop that one (fairlead down), or choose another folder.`,
    );
  }
  if (readMarker(path) === undefined) writeMarker(path, { format: FOLDER_FORMAT });
  return { path, release: lock.release };
};

/**
 * Creates the data folder if needed. Throws like `openDataFolder` if it cannot be used, but does not check who uses it.
 */
export const prepareDataFolder = (path: string): void => {
  makeOwnFolder(path);
  refuseForeign(path);
  refuseUnwritable(path);
  refuseNewer(path, readMarker(path));
  refuseFullDisk(path);
};

/**
 * The ports of this folder: chosen once and kept, because agents of existing clusters know the address. Call it while
 * holding the folder, when no processes of an earlier run are left. Throws if one of them is in use.
 */
export const portsOf = async (folder: DataFolder, desired: readonly PortName[]): Promise<Ports> => {
  const remembered = readMarker(folder.path)?.ports;
  if (remembered !== undefined) {
    for (const name of desired) await refuseTakenPort(folder.path, name, remembered[name]);
    return remembered;
  }
  const [nats = 0, natsMonitor = 0, postgres = 0] = await freePorts(folder.path, PORT_NAMES.length);
  const ports: Ports = { nats, natsMonitor, postgres };
  writeMarker(folder.path, { format: FOLDER_FORMAT, ports });
  return ports;
};

const refuseTakenPort = async (path: string, name: PortName, port: number): Promise<void> => {
  if (await isPortFree(port)) return;
  throw fault(
    'port-taken',
    `${LOOPBACK}:${port}`,
    `Port ${port} on ${LOOPBACK}, where this data folder has its ${name}, is taken by another program (see: ss -ltnp sport = :${port}). ` +
      `Stop that program; or give "${name}" another port in ${join(path, MARKER)}${name === 'nats' ? ', and agents of existing clusters must be told the new address' : ''}.`,
  );
};

const makeOwnFolder = (path: string): void => {
  try {
    makeFolder(path, 0o700);
  } catch (error) {
    throw fault('folder-unusable', path, `The data folder ${path} cannot be made: ${wordsOf(error)}.`);
  }
};

/** Files of two users in one folder cause failures in odd places, so the folder is rejected up front. */
const refuseForeign = (path: string): void => {
  const [owner, self] = [statSync(path).uid, process.getuid?.()];
  if (self === undefined || owner === self) return;
  throw fault(
    'folder-foreign',
    path,
    `The data folder ${path} belongs to user ${owner}, and this is user ${self}. Run Fairlead as that user, or choose another folder.`,
  );
};

const refuseUnwritable = (path: string): void => {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
};

const lockOf = (path: string): LockResult => {
  try {
    return takeLock(join(path, 'lock'));
  } catch (error) {
    throw unwritable(path, error);
  }
};

const refuseNewer = (path: string, marker: Marker | undefined): void => {
  if (marker === undefined || marker.format <= FOLDER_FORMAT) return;
  throw fault(
    'folder-newer',
    path,
    `The data folder ${path} has format ${marker.format}, and this Fairlead knows up to ${FOLDER_FORMAT}: a newer Fairlead wrote it. Use that one, or choose another folder.`,
  );
};

const refuseFullDisk = (path: string): void => {
  const { bavail, bsize } = statfsSync(path);
  const full = diskFault(path, bavail * bsize);
  if (full !== undefined) throw full;
};

/** The refusal for too little free disk space; undefined if it is sufficient. */
export const diskFault = (path: string, freeBytes: number): EnvironmentFault | undefined => {
  if (freeBytes >= DISK_FREE_MIN_BYTES) return undefined;
  return fault(
    'disk-full',
    path,
    `The disk of ${path} has ${Math.floor(freeBytes / MEBIBYTE)} MiB free, and at least ${DISK_FREE_MIN_BYTES / MEBIBYTE} MiB are needed. Free some, or choose a folder on another disk.`,
  );
};

const readMarker = (path: string): Marker | undefined => {
  try {
    const text = readIfAny(join(path, MARKER));
    return text === undefined ? undefined : (JSON.parse(text) as Marker);
  } catch (error) {
    const why = errorCodeOf(error) === 'EACCES' ? 'cannot be read' : 'is damaged';
    throw fault(
      'folder-unusable',
      path,
      `${join(path, MARKER)} ${why} (${wordsOf(error)}). Restore it, or choose another folder.`,
    );
  }
};

const writeMarker = (path: string, marker: Marker): void => {
  try {
    writeWhole(join(path, MARKER), `${JSON.stringify(marker, undefined, 2)}\n`);
  } catch (error) {
    throw unwritable(path, error);
  }
};

const unwritable = (path: string, error: unknown): EnvironmentFault =>
  fault('folder-unusable', path, `The data folder ${path} cannot be written: ${wordsOf(error)}.`);

const fault = (code: EnvironmentFault['code'], target: string, message: string): EnvironmentFault =>
  new EnvironmentFault(code, { operation: 'open the data folder', target, message });
