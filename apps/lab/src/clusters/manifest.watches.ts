import type { Host } from '../hosts/host.js';
import { MANIFESTS } from './static.pods.js';

/** What was only being replaced is back by then. */
const LOOK_MS = 1_000;

/** Whether it has to be looked at once more. */
type Look = (host: Host) => Promise<'again' | 'done'>;

/** Looks at the static pods of a host a moment after something changed in the folder of their manifests, as its kubelet does. */
export class ManifestWatches {
  private readonly watches = new Map<Host, () => void>();
  private readonly changed = new Set<Host>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly look: Look) {}

  /** From now on; to be called again where the folder may be another one than before. */
  async begin(host: Host): Promise<void> {
    this.watches.get(host)?.();
    const stop = await host.files.watch(MANIFESTS, () => this.notice(host));
    if (stop !== undefined) this.watches.set(host, stop);
    else {
      this.watches.delete(host);
      this.notice(host); // Again and again, until there is a folder.
    }
  }

  end(host: Host): void {
    this.watches.get(host)?.();
    this.watches.delete(host);
    this.changed.delete(host);
  }

  close(): void {
    clearTimeout(this.timer);
    for (const host of [...this.watches.keys()]) this.end(host);
    this.changed.clear();
  }

  private notice(host: Host): void {
    this.changed.add(host);
    this.timer ??= setTimeout(() => void this.lookAtAll(), LOOK_MS).unref();
  }

  private async lookAtAll(): Promise<void> {
    this.timer = undefined;
    const hosts = [...this.changed];
    this.changed.clear();
    for (const host of hosts) {
      if ((await this.look(host)) === 'again') this.notice(host);
      else if (!this.watches.has(host)) await this.begin(host);
    }
  }
}
