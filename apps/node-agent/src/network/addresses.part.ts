import { ExternalFailure, type DesiredNetwork, type NodeLoadBalancing, type NodeName } from '@fairlead/contracts';
import {
  ADDRESSES,
  addressesCheck,
  addressesHaproxyConfig,
  addressesHaproxyUnit,
  addressesKeepalivedConfig,
  addressesKeepalivedUnit,
  INTERFACE,
} from '@fairlead/node-scripts';
import { createHash } from 'node:crypto';
import type { HostFiles } from '../files/files.ports.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile, succeeds } from '../software/item.js';
import type { NetworkPart } from './network.ports.js';

const [KEEPALIVED, HAPROXY] = ADDRESSES.units;
const unitPath = (unit: string): string => `/etc/systemd/system/${unit}`;

/** The digest of the last loaded configuration: it differs after a crash between writing the file and the reload. */
const LOADED = `${ADDRESSES.folder}/loaded`;
const CANDIDATE = '.candidate';

const PROGRAM_MODE = 0o700;
const FILE_MODE = 0o600;
const UNIT_MODE = 0o644;

export interface AddressesOptions {
  readonly node: NodeName;
  readonly host: HostPort;
  readonly files: Pick<HostFiles, 'at' | 'remove'>;
  /** Installs packages of the distribution. */
  readonly require: (packages: readonly string[]) => Promise<void>;
  /** Called with the addresses that the host serves now; null: none. */
  readonly onServed: (balancing: NodeLoadBalancing | null) => void;
}

interface Texts {
  readonly haproxy: string;
  readonly keepalived: string;
}

const digestOf = ({ haproxy, keepalived }: Texts): string =>
  createHash('sha256').update(`${haproxy}\n${keepalived}`).digest('hex');

/** Parses lines such as `2: eth0    inet 198.18.7.21/24 …`. */
const deviceOf = (output: string, address: string): string | undefined =>
  output
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, , , has]) => has?.split('/')[0] === address)?.[1];

/**
 * haproxy and keepalived for the virtual addresses that a node may hold. Only configurations that pass their own checks
 * are applied.
 */
export class AddressesPart implements NetworkPart {
  readonly part = 'loadBalancing';

  constructor(private readonly options: AddressesOptions) {}

  async apply({ loadBalancing }: DesiredNetwork): Promise<void> {
    const { onServed } = this.options;
    if (loadBalancing === undefined || loadBalancing.addresses.length === 0) {
      onServed(null);
      return this.remove();
    }
    await this.install();
    await this.configure(await this.textsOf(loadBalancing));
    onServed(loadBalancing);
  }

  /** Debian's packages start their own services, but Fairlead uses different units and files. */
  private async install(): Promise<void> {
    const { host, require } = this.options;
    const programs = ['haproxy', 'keepalived'];
    const found = await Promise.all(programs.map((name) => host.exists(`/usr/sbin/${name}`)));
    const missing = programs.filter((_, at) => found[at] === false);
    if (missing.length === 0) return;
    await require(missing);
    for (const name of missing) await mustRun(host, 'systemctl', ['disable', '--now', `${name}.service`]);
  }

  private async textsOf(balancing: NodeLoadBalancing): Promise<Texts> {
    const { host, files, node } = this.options;
    const { self } = balancing;
    const device = deviceOf(await mustRun(host, 'ip', ['-o', 'address', 'show']), self);
    if (device === undefined)
      throw new ExternalFailure({
        operation: 'ip -o address show',
        target: 'host',
        message: `no interface has the address ${self}`,
      });
    const placed = (text: string): string =>
      text.replaceAll(INTERFACE, device).replaceAll(ADDRESSES.folder, files.at(ADDRESSES.folder));
    return {
      haproxy: placed(addressesHaproxyConfig(balancing)),
      keepalived: placed(addressesKeepalivedConfig(node, balancing)),
    };
  }

  /** haproxy first: a node that holds an address must already serve it. */
  private async configure(texts: Texts): Promise<void> {
    const { host } = this.options;
    await this.write(ADDRESSES.check, addressesCheck, PROGRAM_MODE);
    if (!(await this.isWritten(texts))) await this.replace(texts);
    await this.units();
    const digest = digestOf(texts);
    const isLoaded = (await host.readFile(LOADED)) === digest;
    for (const unit of [HAPROXY, KEEPALIVED]) await this.run(unit, isLoaded);
    if (!isLoaded) await replaceFile(host, LOADED, digest, FILE_MODE);
  }

  private async isWritten({ haproxy, keepalived }: Texts): Promise<boolean> {
    const { host } = this.options;
    const [one, other] = await Promise.all([host.readFile(ADDRESSES.haproxy), host.readFile(ADDRESSES.keepalived)]);
    return one === haproxy && other === keepalived;
  }

  /** An invalid configuration replaces no file, and the running one is kept. */
  private async replace({ haproxy, keepalived }: Texts): Promise<void> {
    const { host, files } = this.options;
    const candidates = [
      { path: ADDRESSES.haproxy, text: haproxy, check: ['haproxy', '-c', '-q', '-f'] },
      { path: ADDRESSES.keepalived, text: keepalived, check: ['keepalived', '--config-test', '--use-file'] },
    ] as const;
    try {
      for (const { path, text, check } of candidates) {
        await host.writeFile(`${path}${CANDIDATE}`, text, FILE_MODE);
        const [program, ...args] = check;
        await mustRun(host, program, [...args, files.at(`${path}${CANDIDATE}`)]);
      }
    } catch (error) {
      for (const { path } of candidates) await files.remove(`${path}${CANDIDATE}`);
      throw error;
    }
    for (const { path } of candidates) await host.rename(`${path}${CANDIDATE}`, path);
  }

  private async units(): Promise<void> {
    const changed = [
      await this.write(unitPath(HAPROXY), addressesHaproxyUnit, UNIT_MODE),
      await this.write(unitPath(KEEPALIVED), addressesKeepalivedUnit, UNIT_MODE),
    ];
    if (changed.some(Boolean)) await mustRun(this.options.host, 'systemctl', ['daemon-reload']);
  }

  /** A reload closes no connection, and moves no address. */
  private async run(unit: string, isLoaded: boolean): Promise<void> {
    const { host } = this.options;
    if (!(await succeeds(host, 'systemctl', ['is-active', '--quiet', unit])))
      await mustRun(host, 'systemctl', ['enable', '--now', unit]);
    else if (!isLoaded) await mustRun(host, 'systemctl', ['reload', unit]);
  }

  private async write(path: string, text: string, mode: number): Promise<boolean> {
    const { host } = this.options;
    if ((await host.readFile(path)) === text) return false;
    await replaceFile(host, path, text, mode);
    return true;
  }

  /** keepalived first: when it stops, it hands its addresses over to another node. */
  private async remove(): Promise<void> {
    const { host, files } = this.options;
    const there = await Promise.all(
      [...ADDRESSES.units.map(unitPath), ADDRESSES.haproxy].map((path) => host.exists(path)),
    );
    if (!there.some(Boolean)) return;
    for (const [at, unit] of ADDRESSES.units.entries()) {
      if (there[at] !== true) continue;
      await mustRun(host, 'systemctl', ['disable', '--now', unit]);
      await files.remove(unitPath(unit));
    }
    await files.remove(ADDRESSES.folder);
    await mustRun(host, 'systemctl', ['daemon-reload']);
  }
}
