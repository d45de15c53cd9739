import { dirname } from 'node:path/posix';
import type { HostPort } from '../../node/host.ports.js';
import { KUBELET_CONF } from '../../node/node.paths.js';

/** The folder of kubelet.conf and its parent: kubeadm creates the former if it is missing. */
const FOLDERS = [dirname(KUBELET_CONF), dirname(dirname(KUBELET_CONF))] as const;
/** The polling interval if neither folder can be watched. Short, because bootstrap waits for the result. */
const POLL_INTERVAL_MS = 250;
/** The polling interval while a folder is watched, because the folder may have been replaced. */
const WATCHED_LOOK_EVERY_MS = 5_000;

/** Waits for kubelet.conf, which is created when the node joins its cluster. */
export class JoinFolder {
  private watched: { readonly folder: string; readonly end: () => void } | undefined;
  private changed = false;

  constructor(
    private readonly host: Pick<HostPort, 'watch'>,
    private readonly onChange: () => void,
  ) {}

  /** Whether the folder has changed since the last check began. */
  get hasChanged(): boolean {
    return this.changed;
  }

  lookBegins(): void {
    this.changed = false;
  }

  /**
   * Called after a check that did not find the file. Returns milliseconds until the next check, unless `onChange` is
   * called before.
   */
  async nextLookMs(): Promise<number> {
    for (const folder of FOLDERS) {
      if (folder === this.watched?.folder) return WATCHED_LOOK_EVERY_MS;
      const end = await this.host.watch(folder, () => this.notice());
      if (end === undefined) continue;
      this.watched?.end();
      this.watched = { folder, end };
      return 0; // The file may have been created since that check.
    }
    return POLL_INTERVAL_MS;
  }

  /** Called when the node has joined, or when the agent stops. */
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
