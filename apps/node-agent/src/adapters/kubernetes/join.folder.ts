import { dirname } from 'node:path/posix';
import type { HostPort } from '../../node/host.ports.js';
import { KUBELET_CONF } from './kubeconfig.js';

/** The folder of kubelet.conf, and the one above it: kubeadm creates the first one if it is missing. */
const FOLDERS = [dirname(KUBELET_CONF), dirname(dirname(KUBELET_CONF))] as const;
/** Interval between two looks for the file if neither can be watched. Short, because bootstrap waits for what follows. */
const LOOK_EVERY_MS = 250;
/** The same while a folder is watched, because another one may have taken its place. */
const WATCHED_LOOK_EVERY_MS = 5_000;

/** The folder in which kubelet.conf appears when the node joins its cluster. */
export class JoinFolder {
  private watched: { readonly folder: string; readonly end: () => void } | undefined;
  private changed = false;

  constructor(
    private readonly host: Pick<HostPort, 'watch'>,
    private readonly onChange: () => void,
  ) {}

  /** Whether something has changed in it since the last look began. */
  get hasChanged(): boolean {
    return this.changed;
  }

  lookBegins(): void {
    this.changed = false;
  }

  /** For a look that has not found the file: milliseconds until the next one, unless `onChange` is called before. */
  async nextLookMs(): Promise<number> {
    for (const folder of FOLDERS) {
      if (folder === this.watched?.folder) return WATCHED_LOOK_EVERY_MS;
      const end = await this.host.watch(folder, () => this.notice());
      if (end === undefined) continue;
      this.watched?.end();
      this.watched = { folder, end };
      return 0; // The file may have appeared since that look.
    }
    return LOOK_EVERY_MS;
  }

  /** The node has joined, or the agent stops. */
  leave(): void {
    this.watched?.end();
    this.watched = undefined;
    this.changed = false;
  }

  private notice(): void {
    this.changed = true;
    this.onChange();
  }
}
