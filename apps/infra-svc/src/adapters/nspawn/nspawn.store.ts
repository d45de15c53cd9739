import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readIfAny, writeWhole } from '@fairlead/embedded/process';
import type { ClusterUid } from '@fairlead/contracts';

/** State that a cloud would keep besides machines: keys by name, and which clusters were deleted permanently. */
export class NspawnStore {
  constructor(private readonly stateDir: string) {}

  /** Returns the key of that name as first stored. */
  ensureKey(name: string, publicKey: string): string {
    const known = this.key(name);
    if (known !== undefined) return known;
    this.write('ssh-keys', name, publicKey);
    return publicKey;
  }

  key(name: string): string | undefined {
    return readIfAny(join(this.stateDir, 'ssh-keys', name))?.trim();
  }

  removeKey(name: string): void {
    rmSync(join(this.stateDir, 'ssh-keys', name), { force: true });
  }

  /** Prevents that a delayed request creates anything for that incarnation of a cluster. */
  bury(uid: ClusterUid): void {
    if (!this.isBuried(uid)) this.write('deleted', uid, '');
  }

  isBuried(uid: ClusterUid): boolean {
    return existsSync(join(this.stateDir, 'deleted', uid));
  }

  private write(folder: string, name: string, text: string): void {
    mkdirSync(join(this.stateDir, folder), { recursive: true });
    writeWhole(join(this.stateDir, folder, name), text);
  }
}
