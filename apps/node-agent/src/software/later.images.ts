import { AGENT_PATHS, type MirrorImage } from '@fairlead/contracts';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import type { HostFiles } from '../files/files.ports.js';
import type { ImageStore } from './images.js';

const PUBLIC = 0o644;

export interface LaterImagesOptions {
  readonly host: HostPort;
  readonly files: HostFiles;
  readonly store: ImageStore;
  readonly log: AgentLog;
}

/**
 * Images that a node needs only after its join are imported while others still prepare. A marker file shows that this
 * is in progress, and a join waits until it is removed. One at a time, because kubeadm init may run on the same CPUs.
 */
export class LaterImages {
  private work: Promise<void> | undefined;
  private doneFor: string | undefined;

  constructor(private readonly options: LaterImagesOptions) {}

  /** Resolves once the marker is written. May be called again at any time: imports in progress or done are kept. */
  async begin(version: string, desired: () => Promise<readonly MirrorImage[]>): Promise<void> {
    if (this.work !== undefined || this.doneFor === version) return;
    const { host, files, store } = this.options;
    const missing = await store.missing(await desired());
    if (missing.length === 0) {
      await files.remove(AGENT_PATHS.imagesPending);
      this.doneFor = version;
      return;
    }
    await host.writeFile(
      AGENT_PATHS.imagesPending,
      `${missing.map(({ reference }) => reference).join('\n')}\n`,
      PUBLIC,
    );
    this.work = this.bring(version, missing).finally(() => {
      this.work = undefined;
    });
  }

  /** Resolves when no import is in progress. */
  async settled(): Promise<void> {
    await this.work;
  }

  private async bring(version: string, missing: readonly MirrorImage[]): Promise<void> {
    const { files, store, log } = this.options;
    try {
      await store.import(missing, 1);
      await files.remove(AGENT_PATHS.imagesPending);
      this.doneFor = version;
      log('info', 'the images for later are there', { count: missing.length });
    } catch (error) {
      log('warn', 'an image could not be brought; trying again later', { cause: String(error) });
    }
  }
}
