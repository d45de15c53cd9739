import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, readIfAny, writeWhole, type ProcessIdentity } from '@fairlead/embedded/process';
import type { HostFile } from './host.files.js';
import { HOST_FILES, HostRecord, STATE_FOLDERS, type Power } from './host.record.js';

const FOLDER_MODE = 0o755;
const SCRIPT_MODE = 0o700;

/** The hosts of one state folder. The disk is the source of truth, for every process and after every crash. */
export class HostStore {
  constructor(private readonly stateDir: string) {}

  folderOf(name: string): string {
    return join(this.stateDir, 'hosts', name);
  }

  names(): readonly string[] {
    const folder = join(this.stateDir, 'hosts');
    return existsSync(folder) ? readdirSync(folder).filter((name) => this.find(name) !== undefined) : [];
  }

  find(name: string): HostRecord | undefined {
    const text = readIfAny(this.at(name, HOST_FILES.record));
    return text === undefined ? undefined : HostRecord.parse(JSON.parse(text));
  }

  save(record: HostRecord): void {
    mkdirSync(this.folderOf(record.name), { recursive: true, mode: SCRIPT_MODE });
    writeWhole(this.at(record.name, HOST_FILES.record), `${JSON.stringify(record, undefined, 2)}\n`);
  }

  isPrepared(name: string): boolean {
    return existsSync(this.at(name, HOST_FILES.prepared));
  }

  /**
   * Creates everything that a host needs before its first boot. An interrupted preparation starts from the beginning.
   */
  prepare(
    name: string,
    host: {
      readonly folders: readonly Omit<HostFile, 'content'>[];
      readonly files: readonly HostFile[];
      readonly keeper: string;
      readonly bridge: string;
    },
  ): void {
    const upper = this.at(name, HOST_FILES.upper);
    for (const folder of [upper, this.at(name, HOST_FILES.work), this.at(name, HOST_FILES.root)]) {
      mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    }
    for (const each of STATE_FOLDERS) {
      mkdirSync(join(this.at(name, HOST_FILES.state), each), { recursive: true, mode: FOLDER_MODE });
    }
    for (const { path, mode, owner } of host.folders) {
      mkdirSync(join(upper, path), { recursive: true, mode: FOLDER_MODE });
      chmodSync(join(upper, path), mode);
      chownSync(join(upper, path), owner, owner);
    }
    for (const { path, content, mode, owner } of host.files) {
      mkdirSync(dirname(join(upper, path)), { recursive: true, mode: FOLDER_MODE });
      writeFileSync(join(upper, path), content, { mode });
      chmodSync(join(upper, path), mode);
      chownSync(join(upper, path), owner, owner);
    }
    writeFileSync(this.at(name, HOST_FILES.keeper), host.keeper, { mode: SCRIPT_MODE });
    this.setBridge(name, host.bridge);
    writeWhole(this.at(name, HOST_FILES.prepared), '');
  }

  wasReached(name: string): boolean {
    return existsSync(this.at(name, HOST_FILES.reached));
  }

  setReached(name: string): void {
    if (!this.wasReached(name)) writeWhole(this.at(name, HOST_FILES.reached), '');
  }

  power(name: string): Power {
    return this.read(name, HOST_FILES.power) === 'on' ? 'on' : 'off';
  }

  setPower(name: string, power: Power): void {
    writeWhole(this.at(name, HOST_FILES.power), `${power}\n`);
  }

  bridge(name: string): string {
    return this.read(name, HOST_FILES.bridge) ?? '';
  }

  setBridge(name: string, bridge: string): void {
    writeWhole(this.at(name, HOST_FILES.bridge), `${bridge}\n`);
  }

  /**
   * The exit code of systemd-nspawn when the host last ended. undefined: it is running, or has never ended by itself.
   */
  ended(name: string): number | undefined {
    const text = this.read(name, HOST_FILES.ended);
    return text === undefined ? undefined : Number(text);
  }

  /** The name of systemd-nspawn's lock for this host, if it was ever booted. */
  nspawnLock(name: string): string | undefined {
    return this.read(name, HOST_FILES.nspawnLock);
  }

  /** Number of boots. */
  boots(name: string): number {
    return (this.read(name, HOST_FILES.boots) ?? '').split('\n').filter(Boolean).length;
  }

  keeper(name: string): ProcessIdentity | undefined {
    return this.living(name, HOST_FILES.keeperIdentity);
  }

  /** The process of systemd-nspawn. */
  boot(name: string): ProcessIdentity | undefined {
    return this.living(name, HOST_FILES.bootIdentity);
  }

  console(name: string): string {
    return this.at(name, HOST_FILES.console);
  }

  /** Hides the host at once, then deletes its files. */
  erase(name: string): void {
    const trash = join(this.stateDir, 'trash');
    mkdirSync(trash, { recursive: true, mode: SCRIPT_MODE });
    const folder = this.folderOf(name);
    if (existsSync(folder)) renameSync(folder, join(trash, `${name}.${process.pid}.${performance.now()}`));
    rmSync(trash, { recursive: true, force: true });
  }

  private at(name: string, file: string): string {
    return join(this.folderOf(name), file);
  }

  private read(name: string, file: string): string | undefined {
    return readIfAny(this.at(name, file))?.trim();
  }

  private living(name: string, file: string): ProcessIdentity | undefined {
    const text = this.read(name, file);
    if (text === undefined || text === '') return undefined;
    const identity = JSON.parse(text) as ProcessIdentity;
    return isAlive(identity) ? identity : undefined;
  }
}

/** The only child of a process; for systemd-nspawn, the host's init process. */
export const childOf = (pid: number): number | undefined => {
  const child = readdirSync('/proc').find((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return child === undefined ? undefined : Number(child);
};

const PARENT = 1;

const parentOf = (pid: string): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[PARENT]);
  } catch {
    return undefined; // It ended between two reads.
  }
};
