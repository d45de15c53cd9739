import { CONNECTIONS_STREAM, namespaceStream, type Fact, type Namespace, type SecretRef } from '@fairlead/contracts';
import { FoldCache, makeHandle } from '@fairlead/event-sourcing/jetstream';
import { NodeSshShell } from '@fairlead/service-kit/ssh';
import { newFolder, removeFolder } from '@fairlead/testing';
import { TestSshd } from '../../../../../libs/service-kit/src/ssh/sshd.fixtures.js';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MemoryLog } from '../../../test/memory.log.js';
import type { Connection, InfrastructureProvider } from '../../providers/provider.ports.js';
import { SITE } from '../../stock/stock.fixtures.js';
import { StockLog } from '../../stock/stock.log.effects.js';
import { LogTrust } from '../../stock/trust.log.effects.js';
import { opensshKeys } from '../ssh-keys/openssh.keys.js';
import type { OwnHostsLimits } from './own.hosts.js';
import { sshKind } from './ssh.kind.js';

export const QUICK: OwnHostsLimits = {
  look: { triesMax: 1, deadlineMs: 2_000 },
  reset: { triesMax: 2, deadlineMs: 2_000 },
  boot: { triesMax: 20, deadlineMs: 5_000 },
  resetsMax: 2,
  freshForMs: 1,
};

const KEY_REF = 'gateway.connection.site' as SecretRef;

const writeProgram = (bin: string, name: string, text: string): void => {
  writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(bin, name), 0o755);
};

/** SSH servers, each on its own loopback address, and an inventory of them. */
export class Rack {
  readonly log = new MemoryLog();
  readonly stock = new StockLog(makeHandle(this.log, new FoldCache(20)));
  readonly trust = new LogTrust(this.log);
  readonly key = opensshKeys.generate('rack');
  /** Further keys of the connection, by reference. */
  readonly secrets = new Map<string, string>();
  /** RFC 3339. */
  now = '2026-12-01T08:00:00.000Z';
  private readonly shell = new NodeSshShell({ idleMs: 5_000, connectionsMax: 100 });

  private constructor(
    readonly hosts: readonly TestSshd[],
    private readonly bin: string,
  ) {}

  /** `octet`: they listen on 127.0.<octet>.1 and so on. */
  static async start(count: number, octet: number): Promise<Rack> {
    const bin = newFolder('rack');
    const standIns = {
      id: 'echo 0',
      systemctl: '[ "$1" != is-active ]',
      ping: 'exit 1',
      ping6: 'exit 1',
      ip: 'exit 0',
      kubeadm: 'rm -f "$FAIRLEAD_ROOT"/etc/kubernetes/*.conf',
    };
    for (const [name, text] of Object.entries(standIns)) writeProgram(bin, name, text);
    const environment = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const addresses = Array.from({ length: count }, (_, index) => `127.0.${octet}.${index + 1}`);
    const rack = new Rack(await Promise.all(addresses.map((address) => TestSshd.start(environment, address))), bin);
    await rack.namespace('default');
    return rack;
  }

  async namespace(name: string, type: 'NamespaceCreated' | 'NamespaceDeleted' = 'NamespaceCreated'): Promise<void> {
    const data = { name: name as Namespace, ...(type === 'NamespaceCreated' ? { description: '' } : {}) };
    await this.log.say(namespaceStream(name), { type, data } as Fact);
  }

  /** Appends a fact of a connection like the gateway. */
  async say(fact: Fact<'HostKeyAccepted' | 'HostAccepted'>): Promise<number> {
    return (await this.log.say(CONNECTIONS_STREAM, fact)).meta.seq;
  }

  inventory(): readonly Record<string, unknown>[] {
    return this.hosts.map((host, at) => ({
      name: `rack-${at + 1}`,
      address: host.address.host,
      port: host.address.port,
      hostKey: host.fingerprint,
    }));
  }

  connection(settings: Record<string, unknown> = {}): Connection {
    return {
      name: SITE,
      provider: 'ssh',
      region: 'here',
      zone: '',
      settings: { hosts: this.inventory(), ...settings },
      secretRef: KEY_REF,
      registration: 'event-1',
    };
  }

  /** Opens the provider again, with the state in the log. */
  open(settings: Record<string, unknown> = {}, limits = QUICK): InfrastructureProvider {
    const world = {
      stock: this.stock,
      trust: this.trust,
      shell: this.shell,
      sshKeys: opensshKeys,
      secret: async (ref: SecretRef) => this.secrets.get(ref) ?? this.key.privateKey,
      powerLimits: { timeoutMs: 2_000, changeMs: 2_000, pollMs: 20 },
      now: () => this.now,
    };
    const provider = sshKind({ ...world, limits }).open(this.connection(settings), this.key.privateKey);
    if ('kind' in provider) throw new Error(provider.message);
    return provider;
  }

  /** Replaces a program on all hosts. */
  standIn(name: string, text: string): void {
    writeProgram(this.bin, name, text);
  }

  /** Puts a file on a host, as a cluster would. */
  put(at: number, path: string, text = 'something'): void {
    const file = join(this.hosts[at]!.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  remove(at: number, path: string): void {
    rmSync(join(this.hosts[at]!.root, path));
  }

  has(at: number, path: string): boolean {
    return existsSync(join(this.hosts[at]!.root, path));
  }

  recordedTypes(): readonly Fact['type'][] {
    return this.log.events.filter(({ meta }) => meta.context === `stock-${SITE}`).map(({ type }) => type);
  }

  async stop(): Promise<void> {
    await this.shell.close();
    await Promise.all(this.hosts.map((host) => host.stop()));
    removeFolder(this.bin);
  }
}
