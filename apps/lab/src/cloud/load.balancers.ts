import { connect, createServer, type Server, type Socket } from 'node:net';
import * as z from 'zod';
import type { DocumentStore } from '../persistence/document.store.js';
import type { Addresses } from './addresses.js';
import { CloudFault, notFound } from './cloud.fault.js';
import type { Stats } from '../stats/stats.js';

const KIND = 'loadBalancers';
const CONNECTIONS_MAX = 2_000;
const CONNECT_TIMEOUT_MS = 2_000;

export const LoadBalancerRequest = z.strictObject({
  group: z.string().max(200),
  port: z.int().min(1).max(65_535),
  healthPath: z.string().max(500).optional(),
  targets: z.array(z.string().max(100)).max(100),
});
export type LoadBalancerRequest = z.infer<typeof LoadBalancerRequest>;

const Stored = z.object({ name: z.string(), host: z.string(), request: LoadBalancerRequest });

export interface LoadBalancerView {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly group: string;
  readonly targets: readonly string[];
}

/** Returns the address at which a machine can be reached now, or undefined if it cannot. */
export type ReachableAddress = (machineId: string) => string | undefined;

/** All load balancers. Each is a TCP proxy on its own address. */
export class LoadBalancers {
  private readonly balancers = new Map<string, LoadBalancer>();
  private readonly byAddress = new Map<string, LoadBalancer>();

  constructor(
    private readonly store: DocumentStore,
    private readonly stats: Stats,
    private readonly addresses: Addresses,
    private readonly reachable: ReachableAddress,
  ) {}

  async load(): Promise<void> {
    for (const document of await this.store.readAll(KIND)) {
      const { name, host, request } = Stored.parse(document);
      this.addresses.reserve(host);
      await this.open(name, host, request);
    }
  }

  async put(name: string, request: LoadBalancerRequest): Promise<LoadBalancerView> {
    const existing = this.balancers.get(name);
    if (existing !== undefined) {
      if (existing.request.port !== request.port)
        throw new CloudFault(409, 'port-fixed', 'the port of a load balancer cannot change');
      existing.request = request;
      this.save(existing);
      return existing.view();
    }
    const host = this.addresses.take('loadBalancer');
    if (host === undefined) throw new CloudFault(422, 'quota', 'no address is left for a load balancer');
    this.stats.wasCreated('loadBalancer', name);
    const balancer = await this.open(name, host, request);
    this.save(balancer);
    return balancer.view();
  }

  get(name: string): LoadBalancerView {
    const balancer = this.balancers.get(name);
    if (balancer === undefined) throw notFound(`load balancer ${name}`);
    return balancer.view();
  }

  async delete(name: string): Promise<void> {
    const balancer = this.balancers.get(name);
    if (balancer === undefined) throw notFound(`load balancer ${name}`);
    this.balancers.delete(name);
    this.byAddress.delete(balancer.host);
    this.store.remove(KIND, name);
    await balancer.close();
    this.addresses.release(balancer.host);
  }

  list(): readonly LoadBalancerView[] {
    return [...this.balancers.values()].map((balancer) => balancer.view());
  }

  /** The targets of a connection to this address, or undefined if it belongs to no load balancer. */
  targetsOf(host: string, port: number): readonly { host: string; port: number }[] | undefined {
    const balancer = this.byAddress.get(host);
    return balancer?.request.port === port ? balancer.reachableTargets() : undefined;
  }

  async close(): Promise<void> {
    await Promise.all([...this.balancers.values()].map((balancer) => balancer.close()));
  }

  private async open(name: string, host: string, request: LoadBalancerRequest): Promise<LoadBalancer> {
    const balancer = new LoadBalancer(name, host, request, this.reachable);
    this.balancers.set(name, balancer);
    this.byAddress.set(host, balancer);
    await balancer.open();
    return balancer;
  }

  private save(balancer: LoadBalancer): void {
    this.store.put(KIND, balancer.name, () => ({
      name: balancer.name,
      host: balancer.host,
      request: balancer.request,
    }));
  }
}

/**
 * One TCP proxy. Each connection is forwarded to the next target that accepts it; if none does, the client's connection
 * is closed at once, as haproxy does for a backend that is down. The health check is the connection itself: a target
 * that answers 503 because etcd has no quorum still receives connections, as from a cloud's load balancer that "fails
 * open" when it finds no healthy target.
 */
class LoadBalancer {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private turn = 0;

  constructor(
    readonly name: string,
    readonly host: string,
    public request: LoadBalancerRequest,
    private readonly reachable: ReachableAddress,
  ) {
    this.server = createServer({ noDelay: true }, (client) => void this.forward(client));
    this.server.maxConnections = CONNECTIONS_MAX;
  }

  view(): LoadBalancerView {
    const { group, port, targets } = this.request;
    return { name: this.name, host: this.host, port, group, targets };
  }

  reachableTargets(): readonly { host: string; port: number }[] {
    return this.request.targets
      .map(this.reachable)
      .filter((host) => host !== undefined)
      .map((host) => ({ host, port: this.request.port }));
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host: this.host, port: this.request.port, exclusive: true }, () => resolve());
    });
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async forward(client: Socket): Promise<void> {
    this.track(client);
    const targets = this.reachableTargets();
    this.turn += 1;
    for (let tried = 0; tried < targets.length && !client.destroyed; tried += 1) {
      const target = targets[(this.turn + tried) % targets.length];
      const upstream = target === undefined ? undefined : await connectTo(target.host, target.port);
      if (upstream === undefined) continue;
      this.track(upstream);
      join(client, upstream);
      return;
    }
    client.destroy();
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }
}

/** Pipes both directions until one side closes, then closes both. */
const join = (client: Socket, upstream: Socket): void => {
  if (client.destroyed) {
    upstream.destroy();
    return;
  }
  client.pipe(upstream).pipe(client);
  client.once('close', () => upstream.destroy());
  upstream.once('close', () => client.destroy());
};

const connectTo = (host: string, port: number): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    const timer = setTimeout(() => socket.destroy(), CONNECT_TIMEOUT_MS);
    const give = (result: Socket | undefined): void => {
      clearTimeout(timer);
      resolve(result);
    };
    socket.once('connect', () => give(socket));
    socket.once('error', () => give(undefined));
    socket.once('close', () => give(undefined));
  });
