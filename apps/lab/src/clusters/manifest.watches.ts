import type { Host } from '../hosts/host.js';
import { MANIFESTS } from './static.pods.js';

/** Long enough for a manifest that is being replaced to be back. */
const CHECK_DELAY_MS = 1_000;

/** Checks the manifests of a host; `again` requests another check. */
type Check = (host: Host) => Promise<'again' | 'done'>;

/** Checks the static pods of a host shortly after a change in its manifest folder, as the kubelet does. */
export class ManifestWatches {
  private readonly watches = new Map<Host, () => void>();
  private readonly changed = new Set<Host>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly check: Check) {}

  /** Starts watching. Must be called again if the folder may have been recreated. */
  async begin(host: Host): Promise<void> {
    this.watches.get(host)?.();
    const stop = await host.files.watch(MANIFESTS, () => this.notice(host));
    if (stop !== undefined) this.watches.set(host, stop);
    else {
      this.watches.delete(host);
      this.notice(host); // Retries until the folder exists.
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
    this.timer ??= setTimeout(() => void this.checkAll(), CHECK_DELAY_MS).unref();
  }

  private async checkAll(): Promise<void> {
    this.timer = undefined;
    const hosts = [...this.changed];
    this.changed.clear();
    for (const host of hosts) {
      if ((await this.check(host)) === 'again') this.notice(host);
      else if (!this.watches.has(host)) await this.begin(host);
    }
  }
}
