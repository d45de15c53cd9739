import {
  FIREWALL_UNDO_UNIT,
  FIREWALL_UNIT,
  isAddress,
  NETWORK_PATHS,
  NFT_TABLE,
  SSH_CLIENTS_MAX,
  ExternalFailure,
  type DesiredNetwork,
} from '@fairlead/contracts';
import type { HostFiles } from '../files/files.ports.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile, succeeds } from '../software/item.js';
import { Reverted, type NetworkPart, type Reach } from './network.ports.js';
import { nftablesRules } from './nftables.rules.js';

const PATHS = NETWORK_PATHS.firewall;
const LIST_MS = 30_000;
/** Time limit for reaching every endpoint after a change. */
const PROOF_MS = 20_000;
const PROOF_EACH_MS = 5_000;
const PROOF_PAUSE_MS = 1_000;
/** Later than every verification: a running agent reverts a change itself. */
const UNDO_S = 30;

const SCRIPT_MODE = 0o755;
const FILE_MODE = 0o600;
const UNIT_MODE = 0o644;

export interface FirewallOptions {
  readonly host: HostPort;
  readonly files: Pick<HostFiles, 'at' | 'remove'>;
  readonly reach: Reach;
  /** Rejects when the agent stops. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Installs a package of the distribution. */
  readonly require: (packages: readonly string[]) => Promise<void>;
}

/** Reverts a change unless it was confirmed: whichever renames the trial file first decides. */
const undoScript = (at: (path: string) => string): string => `#!/bin/sh
# Written by Fairlead: takes a change of the firewall back, unless it was confirmed.
mv ${at(PATHS.trial)} ${at(PATHS.reverted)} 2>/dev/null || exit 0
if [ -s ${at(PATHS.confirmed)} ]; then
  exec nft -f ${at(PATHS.confirmed)}
fi
exec nft delete table ${NFT_TABLE}
`;

const unitText = (at: (path: string) => string): string => `# Written by Fairlead.
[Unit]
Description=Firewall of Fairlead
DefaultDependencies=no
After=local-fs.target
Before=network-pre.target shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target
ConditionPathExists=${at(PATHS.confirmed)}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f ${at(PATHS.confirmed)}

[Install]
WantedBy=sysinit.target
`;

/**
 * The firewall of a host: one table, replaced atomically, and reverted if the host can no longer reach required
 * endpoints.
 */
export class FirewallPart implements NetworkPart {
  readonly part = 'firewall';

  constructor(private readonly options: FirewallOptions) {}

  async apply({ firewall }: DesiredNetwork): Promise<void> {
    await this.endInterrupted();
    if (firewall === undefined) return this.remove();
    if (!(await succeeds(this.options.host, 'nft', ['--version']))) await this.options.require(['nftables']);
    const text = nftablesRules(firewall, await this.fairlead());
    if (text === (await this.read('confirmed'))) return this.keep(text);
    await this.prepare();
    await this.try(text);
  }

  /**
   * An agent that ended in the middle of a change did not verify it: the change is reverted here, unless the timer
   * already did.
   */
  private async endInterrupted(): Promise<void> {
    const { host } = this.options;
    if (!(await host.exists(PATHS.trial)) && !(await host.exists(PATHS.reverted))) return;
    await this.undo();
    throw new Reverted('nft -f', 'the agent or the host ended before the change was confirmed');
  }

  private read(which: 'confirmed' | 'listed'): Promise<string | undefined> {
    return this.options.host.readFile(PATHS[which]);
  }

  private async fairlead(): Promise<readonly string[]> {
    const lines = ((await this.options.host.readFile(NETWORK_PATHS.sshClients)) ?? '')
      .split('\n')
      .map((line) => line.trim());
    return [...new Set(lines.filter(isAddress))].slice(-SSH_CLIENTS_MAX);
  }

  private async remove(): Promise<void> {
    const { host, files } = this.options;
    if ((await this.read('confirmed')) === undefined) return;
    if (await succeeds(host, 'nft', ['list', 'table', ...NFT_TABLE.split(' ')]))
      await mustRun(host, 'nft', ['delete', 'table', ...NFT_TABLE.split(' ')]);
    await mustRun(host, 'systemctl', ['disable', FIREWALL_UNIT]);
    for (const path of [PATHS.unit, PATHS.undo, PATHS.listed, PATHS.confirmed]) await files.remove(path);
  }

  /** Reloads rules that others have changed; they were verified before. */
  private async keep(text: string): Promise<void> {
    const { host } = this.options;
    const listed = await this.list();
    if (listed !== undefined && listed === (await this.read('listed'))) return;
    await this.prepare();
    await replaceFile(host, PATHS.confirmed, text, FILE_MODE);
    await this.load(PATHS.confirmed);
    await this.remember();
  }

  private async list(): Promise<string | undefined> {
    const { code, stdout } = await this.options.host.run('nft', ['list', 'table', ...NFT_TABLE.split(' ')], {
      timeoutMs: LIST_MS,
    });
    return code === 0 ? stdout : undefined;
  }

  private async remember(): Promise<void> {
    await replaceFile(this.options.host, PATHS.listed, (await this.list()) ?? '', FILE_MODE);
  }

  private load(path: string): Promise<string> {
    return mustRun(this.options.host, 'nft', ['-f', this.options.files.at(path)]);
  }

  /** Writes the scripts that revert a change and that load the rules at boot. */
  private async prepare(): Promise<void> {
    const { host, files } = this.options;
    const at = (path: string): string => files.at(path);
    await replaceFile(host, PATHS.undo, undoScript(at), SCRIPT_MODE);
    const unit = unitText(at);
    if ((await host.readFile(PATHS.unit)) !== unit) {
      await replaceFile(host, PATHS.unit, unit, UNIT_MODE);
      await mustRun(host, 'systemctl', ['daemon-reload']);
    }
    await mustRun(host, 'systemctl', ['enable', FIREWALL_UNIT]);
  }

  /**
   * Applies rules that revert themselves unless the host can still reach NATS, and the Kubernetes API if it is part of
   * a cluster.
   */
  private async try(text: string): Promise<void> {
    const { host, files, reach } = this.options;
    // Only endpoints that were reachable before the change are required.
    const [nats, api] = await Promise.all([reach.nats(PROOF_EACH_MS), reach.api(PROOF_EACH_MS)]);
    if (!nats.reached)
      throw new ExternalFailure({ operation: 'change the firewall', target: 'NATS', message: nats.sentence });
    await replaceFile(host, PATHS.trial, text, FILE_MODE);
    try {
      await mustRun(host, 'nft', ['-c', '-f', files.at(PATHS.trial)]);
      await this.arm();
    } catch (error) {
      await files.remove(PATHS.trial);
      throw error;
    }
    await this.applied();
    const missing = await this.proved(api?.reached === true);
    if (missing !== undefined) {
      await this.undo();
      throw new Reverted(`nft -f ${PATHS.trial}`, missing);
    }
    await this.confirm();
  }

  /** A systemd timer survives the agent; a boot removes it, and loads the confirmed rules. */
  private async arm(): Promise<void> {
    const { host, files } = this.options;
    await this.disarm();
    await mustRun(host, 'systemd-run', [
      `--unit=${FIREWALL_UNDO_UNIT}`,
      `--on-active=${UNDO_S}s`,
      '--timer-property=AccuracySec=1s',
      '--collect',
      '/bin/sh',
      files.at(PATHS.undo),
    ]);
  }

  /** An expired timer is already gone. */
  private async disarm(): Promise<void> {
    await this.options.host.run('systemctl', ['stop', `${FIREWALL_UNDO_UNIT}.timer`], { timeoutMs: LIST_MS });
  }

  private async applied(): Promise<void> {
    try {
      await this.load(PATHS.trial);
    } catch (error) {
      await this.undo();
      throw error;
    }
  }

  /** Returns undefined if everything is reachable, otherwise the error of the failed connection. */
  private async proved(withApi: boolean): Promise<string | undefined> {
    const { reach, sleep } = this.options;
    const endsAt = performance.now() + PROOF_MS;
    for (;;) {
      const asked = await Promise.all([reach.nats(PROOF_EACH_MS), ...(withApi ? [reach.api(PROOF_EACH_MS)] : [])]);
      const missing = asked.find((one) => one !== undefined && !one.reached);
      if (missing === undefined) return undefined;
      if (performance.now() + PROOF_PAUSE_MS >= endsAt) return missing.sentence;
      await sleep(PROOF_PAUSE_MS);
    }
  }

  /** Returns false if the timer was faster. */
  private async isRenamed(from: string, to: string): Promise<boolean> {
    const { host } = this.options;
    try {
      await host.rename(from, to);
      return true;
    } catch (error) {
      if (await host.exists(from)) throw error;
      return false;
    }
  }

  private async confirm(): Promise<void> {
    const { files } = this.options;
    if (!(await this.isRenamed(PATHS.trial, PATHS.confirmed))) {
      await files.remove(PATHS.reverted);
      throw new Reverted(`nft -f ${PATHS.trial}`, `the change was not confirmed within ${UNDO_S} s`);
    }
    await this.disarm();
    await this.remember();
  }

  /** Does the same as the timer. */
  private async undo(): Promise<void> {
    const { host, files } = this.options;
    if (await this.isRenamed(PATHS.trial, PATHS.reverted)) {
      if (await host.exists(PATHS.confirmed)) await this.load(PATHS.confirmed);
      else await mustRun(host, 'nft', ['delete', 'table', ...NFT_TABLE.split(' ')]);
    }
    await this.disarm();
    await files.remove(PATHS.reverted);
  }
}
