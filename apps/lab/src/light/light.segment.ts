import { ADDRESSES } from '@fairlead/node-scripts';
import type { MemoryFiles } from '../files/memory.files.js';
import type { Host } from '../hosts/host.js';
import type { AddressLooks } from './agent.programs.js';

interface Attached {
  readonly host: Host;
  readonly files: MemoryFiles;
}

interface Instance {
  readonly address: string;
  readonly priority: number;
}

interface Server {
  readonly backend: string;
  readonly name: string;
  readonly address: string;
}

const [KEEPALIVED, HAPROXY] = ADDRESSES.units;

const textOf = (files: MemoryFiles, path: string): string => files.readBytes(path)?.toString('utf8') ?? '';

/** The addresses in a keepalived configuration written by Fairlead. */
export const instancesIn = (text: string): readonly Instance[] =>
  text
    .split(/^vrrp_instance /m)
    .slice(1)
    .flatMap((block) => {
      const address = /virtual_ipaddress \{\s*([^/\s]+)/.exec(block)?.[1];
      const priority = /^[ \t]*priority (\d+)$/m.exec(block)?.[1];
      return address === undefined || priority === undefined ? [] : [{ address, priority: Number(priority) }];
    });

/** The nodes behind the addresses in a haproxy configuration written by Fairlead. */
export const serversIn = (text: string): readonly Server[] =>
  text
    .split(/^backend /m)
    .slice(1)
    .flatMap((block) => {
      const [backend = '', ...lines] = block.split('\n');
      return lines.flatMap((line) => {
        const [, name, address] = /^ {2}server (\S+) \[?([^\]\s]+?)\]?:\d+/.exec(line) ?? [];
        return name === undefined || address === undefined ? [] : [{ backend: backend.trim(), name, address }];
      });
    });

/**
 * A **simulation** of the network that virtual addresses of light hosts need, without packets: VRRP among the hosts
 * that run keepalived, with immediate elections, and haproxy's health checks of the nodes behind. A node answers on all
 * its ports while its host is on and its kubelet runs.
 */
export class LightSegment {
  private readonly attached = new Map<string, Attached>();
  /** The machine that holds each address. */
  private readonly holders = new Map<string, string>();

  attach(host: Host, files: MemoryFiles): void {
    this.attached.set(host.facts.machineId, { host, files });
  }

  detach(host: Host): void {
    this.attached.delete(host.facts.machineId);
  }

  /** How the host's agent observes its addresses. */
  looksOf(host: Host): AddressLooks {
    return {
      own: () => new Set([host.facts.address, ...this.heldBy(host)]),
      stats: async () => this.stats(host),
      connects: async (address) => this.answersAt(address),
    };
  }

  heldBy({ facts: { machineId } }: Host): readonly string[] {
    const { files } = this.attached.get(machineId) ?? {};
    if (files === undefined) return [];
    return instancesIn(textOf(files, ADDRESSES.keepalived)).flatMap(({ address }) =>
      this.holderOf(address) === machineId ? [address] : [],
    );
  }

  /** The current holder keeps an address while it can (nopreempt); otherwise the highest priority wins. */
  private holderOf(address: string): string | undefined {
    const candidates = [...this.attached].flatMap(([machineId, { host, files }]) => {
      if (!runs(host, KEEPALIVED) || !runs(host, HAPROXY)) return [];
      const own = instancesIn(textOf(files, ADDRESSES.keepalived)).find((one) => one.address === address);
      return own === undefined ? [] : [{ machineId, priority: own.priority }];
    });
    const before = this.holders.get(address);
    if (candidates.some(({ machineId }) => machineId === before)) return before;
    const [first] = candidates.toSorted((one, other) => other.priority - one.priority);
    if (first === undefined) this.holders.delete(address);
    else this.holders.set(address, first.machineId);
    return first?.machineId;
  }

  private answersAt(address: string): boolean {
    const holder = this.attached.get(this.holderOf(address) ?? '');
    return holder !== undefined && runs(holder.host, HAPROXY);
  }

  /** haproxy's response to `show stat`, with the columns that are read. */
  private stats(host: Host): string | undefined {
    const { files } = this.attached.get(host.facts.machineId) ?? {};
    if (files === undefined || !runs(host, HAPROXY)) return undefined;
    const lines = serversIn(textOf(files, ADDRESSES.haproxy)).map(
      ({ backend, name, address }) => `${backend},${name},${this.isAlive(address) ? 'UP' : 'DOWN'}`,
    );
    return ['# pxname,svname,status', ...lines, ''].join('\n');
  }

  private isAlive(address: string): boolean {
    return [...this.attached.values()].some(
      ({ host }) => host.facts.address === address && runs(host, 'kubelet.service'),
    );
  }
}

const runs = (host: Host, unit: string): boolean => host.isOn && host.record.units[unit]?.started === true;
