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
 * Images that a node needs only once it has joined come while others still prepare. A file says that some are on their way:
 * a join waits for its end. One at a time, since kubeadm init may run on the same machine's processors.
 */
export class LaterImages {
  private work: Promise<void> | undefined;
  private doneFor: string | undefined;

  constructor(private readonly options: LaterImagesOptions) {}

  /** Resolves once it is said that images are on their way. May be called again at any time: what is under way or done is left. */
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

  /** Resolves when nothing is under way any more. */
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
