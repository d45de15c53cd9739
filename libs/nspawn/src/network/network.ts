import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ExternalFailure } from '@fairlead/contracts';
import { readIfAny, writeWhole } from '@fairlead/embedded/process';
import { run } from '../machine/commands.js';
import { tagOf } from '../places.js';
import { addressPlanOf, HOST_RANGE, overlap, type AddressPlan } from './addresses.rules.js';
import { addressWithin, linksIn, type Link } from './links.rules.js';

/** A network of hosts: a separate namespace with a bridge, and a veth pair that connects it to Fairlead's namespace. */
export interface HostNetwork {
  readonly name: string;
  readonly cidr: string;
  /** The network namespace, as in /run/netns. */
  readonly namespace: string;
  /** The device on Fairlead's side. */
  readonly device: string;
  readonly gateway: string;
  /** The address on Fairlead's side, at which hosts reach Fairlead. */
  readonly uplink: string;
}

export const BRIDGE = 'br0';
/** A bridge that is down: hosts on it keep a carrier and reach nothing. */
export const VOID = 'void';
/**
 * Without its own address, a bridge takes the lowest of its ports: cached addresses would become invalid when a host
 * comes or goes.
 */
const BRIDGE_ADDRESS = '02:00:00:00:00:01';
const UPLINK_PORT = 'uplink';
const NAMESPACES = '/run/netns';

export const namespaceOf = (stateDir: string, network: string): string =>
  `fairlead-${tagOf(stateDir, 'network', network)}`;

export const deviceOf = (stateDir: string, network: string): string => `fl${tagOf(stateDir, 'network', network)}`;

/** The networks of one state folder. */
export class Networks {
  constructor(private readonly stateDir: string) {}

  find(name: string): HostNetwork | undefined {
    const text = readIfAny(this.fileOf(name));
    return text === undefined ? undefined : this.known(name, (JSON.parse(text) as { cidr: string }).cidr);
  }

  all(): readonly HostNetwork[] {
    const folder = join(this.stateDir, 'networks');
    if (!existsSync(folder)) return [];
    return readdirSync(folder).flatMap((name) => this.find(name) ?? []);
  }

  planOf({ name, cidr }: HostNetwork): AddressPlan {
    const plan = addressPlanOf(cidr);
    if (plan === undefined) throw unusable(name, cidr);
    return plan;
  }

  folderOf(name: string): string {
    return join(this.stateDir, 'networks', name);
  }

  /** Creates what is missing of the network; an existing one keeps its range. */
  async ensure(name: string, cidr: string): Promise<HostNetwork> {
    const network = this.find(name) ?? (await this.define(name, cidr));
    await this.ensureNamespace(network);
    await this.ensureUplink(network);
    return network;
  }

  /** Takes it down; `ensure` restores it. Nothing may be connected to it. */
  async takeDown(name: string): Promise<void> {
    const network = this.find(name);
    if (network === undefined) return;
    await removeDevice(network.device);
    if (existsSync(join(NAMESPACES, network.namespace))) {
      await run({ operation: 'delete network', target: name }, 'ip', ['netns', 'delete', network.namespace]);
    }
  }

  /** Nothing may be connected to it. */
  async remove(name: string): Promise<void> {
    await this.takeDown(name);
    rmSync(this.folderOf(name), { recursive: true, force: true });
  }

  private fileOf(name: string): string {
    return join(this.folderOf(name), 'network.json');
  }

  private known(name: string, cidr: string): HostNetwork {
    const plan = addressPlanOf(cidr);
    if (plan === undefined) throw unusable(name, cidr);
    const { gateway, uplink } = plan;
    const { stateDir } = this;
    return { name, cidr, namespace: namespaceOf(stateDir, name), device: deviceOf(stateDir, name), gateway, uplink };
  }

  private async define(name: string, cidr: string): Promise<HostNetwork> {
    const network = this.known(name, cidr);
    const other = this.all().find((each) => overlap(each.cidr, cidr));
    if (other !== undefined) throw taken(name, cidr, `the network ${other.name} has ${other.cidr}`);
    await this.refuseTakenHere(network);
    mkdirSync(this.folderOf(name), { recursive: true });
    writeWhole(this.fileOf(name), `${JSON.stringify({ name, cidr })}\n`);
    return network;
  }

  /** Another Fairlead on this machine, or a foreign network, may use the range. */
  private async refuseTakenHere({ name, cidr, device }: HostNetwork): Promise<void> {
    const printed = await run({ operation: 'ensure network', target: name }, 'ip', ['-json', 'address', 'show']);
    const clash = addressWithin(linksIn(printed), { cidr, except: device });
    if (clash !== undefined) throw taken(name, cidr, `the device ${clash.device} of this machine has ${clash.address}`);
  }

  private async ensureNamespace({ name, namespace, gateway, cidr }: HostNetwork): Promise<void> {
    const at = { operation: 'ensure network', target: name };
    if (!(await isNamespace(namespace))) {
      // A crash between the creation of the name and of the namespace leaves an invalid name.
      rmSync(join(NAMESPACES, namespace), { force: true });
      await run(at, 'ip', ['netns', 'add', namespace]);
    }
    const devices = await devicesOf(namespace, name);
    const missing = (device: string): boolean => !devices.has(device);
    await batch(at, namespace, [
      'link set lo up',
      ...(missing(VOID) ? [`link add ${VOID} type bridge`] : []),
      ...(missing(BRIDGE) ? [`link add ${BRIDGE} type bridge`] : []),
      `link set ${BRIDGE} address ${BRIDGE_ADDRESS}`,
      `address replace ${gateway}/${cidr.split('/')[1] ?? ''} dev ${BRIDGE}`,
      `link set ${BRIDGE} up`,
    ]);
    // A new namespace inherits the machine's settings: with forwarding enabled, it would route its hosts to the
    // outside.
    await run(at, 'nsenter', [
      `--net=${join(NAMESPACES, namespace)}`,
      ...['sh', '-c', 'echo 0 >/proc/sys/net/ipv4/ip_forward'],
    ]);
  }

  /**
   * The pair is removed with either end's namespace, so an incomplete one is gone or belongs to a process that has
   * ended.
   */
  private async ensureUplink({ name, namespace, device, uplink, cidr }: HostNetwork): Promise<void> {
    const at = { operation: 'ensure network', target: name };
    const inside = (await devicesOf(namespace, name)).has(UPLINK_PORT);
    const outside = await hasDevice(device);
    if (!inside || !outside) {
      if (inside) await run(at, 'ip', ['-n', namespace, 'link', 'delete', UPLINK_PORT]);
      if (outside) await removeDevice(device);
      await run(at, 'ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', UPLINK_PORT, 'netns', namespace]);
    }
    await batch(at, namespace, [`link set ${UPLINK_PORT} master ${BRIDGE} up`]);
    await run(at, 'ip', ['address', 'replace', `${uplink}/${cidr.split('/')[1] ?? ''}`, 'dev', device]);
    await run(at, 'ip', ['link', 'set', device, 'up']);
  }
}

/** Whether the name is a namespace that can be entered. */
const isNamespace = async (namespace: string): Promise<boolean> => {
  if (!existsSync(join(NAMESPACES, namespace))) return false;
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  return mounts.includes(` ${NAMESPACES}/${namespace} `);
};

export const devicesOf = async (namespace: string, target: string): Promise<ReadonlyMap<string, Link>> => {
  const at = { operation: 'look at the network', target };
  const links = linksIn(await run(at, 'ip', ['-n', namespace, '-json', 'address', 'show']));
  return new Map(links.map((link) => [link.ifname, link]));
};

/** In the namespace of this process; /sys may belong to another one. */
const hasDevice = async (device: string): Promise<boolean> => {
  const printed = await run({ operation: 'look at the network', target: device }, 'ip', ['-json', 'link', 'show']);
  return linksIn(printed).some(({ ifname }) => ifname === device);
};

const removeDevice = async (device: string): Promise<void> => {
  if (await hasDevice(device))
    await run({ operation: 'delete network', target: device }, 'ip', ['link', 'delete', device]);
};

/** Changes in the hosts' namespace, in order. */
const batch = async (
  at: { readonly operation: string; readonly target: string },
  namespace: string,
  lines: readonly string[],
): Promise<void> => {
  for (const line of lines) await run(at, 'ip', ['-n', namespace, ...line.split(' ')]);
};

const unusable = (name: string, cidr: string): ExternalFailure =>
  new ExternalFailure({
    operation: 'ensure network',
    target: name,
    message: `local hosts need a network of /16 to /26 within ${HOST_RANGE}, which no real machine has; this is ${cidr}`,
    retryable: false,
  });

const taken = (name: string, cidr: string, by: string): ExternalFailure =>
  new ExternalFailure({
    operation: 'ensure network',
    target: name,
    message: `${cidr} is taken: ${by}. Choose another range with the connection's setting networkCidr`,
    retryable: false,
  });
