import { ExternalFailure, type ClusterUid, type MachineSpec, type NodeName } from '@fairlead/contracts';
import type {
  Capabilities,
  Firewall,
  GroupRef,
  Image,
  InfrastructureProvider,
  ListedMachine,
  LoadBalancer,
  LoadBalancerSpec,
  MachineAnswer,
  MachineGroup,
  MachineReport,
  Network,
  ProviderOperation,
  Region,
  Reservations,
  SshKey,
} from '../../providers/provider.ports.js';
import {
  LabGroup,
  LabImage,
  LabLoadBalancer,
  LabMachines,
  LabNetwork,
  LabRegion,
  LabSpecs,
  LabFirewall,
  LabSshKey,
  type LabMachine,
  type LabSpec,
} from './lab.answers.js';
import * as z from 'zod';
import { LabReservations } from './lab.reservations.js';
import type { LabClient, LabRequest } from './lab.client.js';

/** The lab holds a poll until something changes, at most this long. */
const LONG_POLL_MS = 10_000;

const Anything = z.unknown();

type Call = Omit<LabRequest, 'target'>;

const path = (kind: string, name: string): string => `/v1/${kind}/${encodeURIComponent(name)}`;

const specOf = ({ name, cpuCount, memoryGiB, cpuClockGHz }: LabSpec): MachineSpec => ({
  name,
  cpuCount,
  memoryGiB,
  cpuClockGHz: cpuClockGHz ?? null,
});

const runningOf = (
  machine: LabMachine,
): Omit<Extract<MachineReport, { status: 'running' }>, 'id' | 'name' | 'uid'> => ({
  status: 'running',
  publicIp: machine.publicIp ?? '',
  privateIp: machine.privateIp ?? '',
  region: machine.region,
  zone: machine.zone,
  // The machine was created to join by itself.
  ...(machine.hasUserData === true ? { reach: 'agent' as const } : {}),
  ssh: {
    host: machine.publicIp ?? machine.privateIp ?? '',
    port: machine.sshPort ?? 22,
    user: machine.sshUser ?? 'root',
    hostKey: machine.hostKey ?? null,
  },
  ...(machine.sshKey === undefined || machine.sshKey === null ? {} : { sshKey: machine.sshKey }),
});

const reportOf = (machine: LabMachine, uid: string): MachineReport => {
  const reported = { id: machine.id, name: machine.name as NodeName, uid: uid as ClusterUid };
  switch (machine.status) {
    case 'creating':
    case 'stopped':
      return { ...reported, status: machine.status };
    case 'failed':
      return { ...reported, status: 'failed', message: machine.message ?? 'the lab gives no reason' };
    case 'running':
      return { ...reported, ...runningOf(machine) };
  }
};

/** A lab: simulated machines that are accessed exactly like real ones. */
export class LabProvider implements InfrastructureProvider {
  readonly reservations: Reservations;

  constructor(
    private readonly client: LabClient,
    private readonly connection: string,
    private readonly imageName: string,
  ) {
    this.reservations = new LabReservations(client, connection);
  }

  async verify(signal: AbortSignal): Promise<Capabilities> {
    await this.specs('verify connection', signal);
    return { nlb: true, simulated: true };
  }

  listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    return this.specs('list specs', signal);
  }

  async resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    return (await this.specs('resolve spec', signal)).find((spec) => spec.name === name);
  }

  resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined> {
    return this.client.find(
      this.on({ operation: 'resolve region', method: 'GET', path: path('regions', region), signal }),
      LabRegion,
    );
  }

  async resolveImage(signal: AbortSignal): Promise<Image> {
    const request = this.on({
      operation: 'resolve image',
      method: 'GET',
      path: path('images', this.imageName),
      signal,
    });
    const found = await this.client.find(request, LabImage);
    if (found !== undefined) return found;
    throw new ExternalFailure({ ...request, message: `the lab has no image ${this.imageName}`, retryable: false });
  }

  async ensureNetwork({ name, subnet, cidr }: Network, signal: AbortSignal): Promise<Network> {
    const found = await this.getOrPut(
      { operation: 'ensure network', path: path('networks', name), signal },
      { cidr, subnet },
      LabNetwork,
    );
    return { name, subnet: found.subnet, cidr: found.cidr };
  }

  async ensureFirewall({ name, rules }: Firewall, signal: AbortSignal): Promise<Firewall> {
    const call = { operation: 'ensure firewall', path: path('firewalls', name), signal } as const;
    const found = await this.client.find(this.on({ ...call, method: 'GET' }), LabFirewall);
    // Replaced if they differ, because an earlier release may have opened more ports.
    if (JSON.stringify(found?.rules) !== JSON.stringify(rules))
      await this.client.get(this.on({ ...call, method: 'PUT', body: { rules } }), Anything);
    return { name, rules };
  }

  async ensureSshKey({ name, publicKey }: SshKey, signal: AbortSignal): Promise<SshKey> {
    const found = await this.getOrPut(
      { operation: 'ensure SSH key', path: path('ssh-keys', name), signal },
      { publicKey },
      LabSshKey,
    );
    return { name, publicKey: found.publicKey };
  }

  deleteSshKey(name: string, signal: AbortSignal): Promise<void> {
    const target = path('ssh-keys', name);
    return this.client.delete(this.on({ operation: 'delete SSH key', method: 'DELETE', path: target, signal }));
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    const waiting = new Set(group.machines.map(({ name }) => name));
    let current = await this.askFor(group, signal);
    for (;;) {
      for (const machine of current.machines) {
        const report = reportOf(machine, current.uid);
        if (report.status !== 'running' && report.status !== 'failed') continue;
        if (waiting.delete(report.name)) yield report;
      }
      if (waiting.size === 0) return;
      current = await this.change(group, current.rev, signal);
    }
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    const request = {
      operation: 'describe machines',
      method: 'GET',
      path: path('groups', group.name),
      signal,
    } as const;
    const found = await this.client.find(this.on(request), LabGroup);
    return (found?.machines ?? []).map((machine) => reportOf(machine, found?.uid ?? ''));
  }

  /** The lab has no accounts: the group name contains the connection to which machines belong. */
  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    const request = { operation: 'list machines', method: 'GET', path: '/v1/machines', signal } as const;
    const { items } = await this.client.get(this.on(request), LabMachines);
    return items
      .filter(({ group }) => group.endsWith(`.${this.connection}`))
      .map(({ group, uid, ...machine }) => ({
        ...reportOf(machine, uid),
        group,
        ...(typeof machine.spec === 'string' ? { spec: machine.spec } : {}),
        ...(typeof machine.image === 'string' ? { image: machine.image } : {}),
      }));
  }

  deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    return this.client.delete({
      operation: 'delete machine',
      target: id,
      method: 'DELETE',
      path: path('machines', id),
      signal,
    });
  }

  /** The lab deletes by name, regardless of the incarnation, so the UID of the group is checked first. */
  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    const call = { operation: 'delete machines', path: path('groups', group.name), signal } as const;
    const found = await this.client.find(this.on({ ...call, method: 'GET' }), LabGroup);
    if (found === undefined || found.uid !== group.uid) return;
    await this.client.delete(this.on({ ...call, method: 'DELETE' }));
  }

  ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    const { name, group, targetPort, healthPath, targets } = desired;
    return this.client.get(
      this.on({
        operation: 'ensure load balancer',
        method: 'PUT',
        path: path('load-balancers', name),
        body: { group: group.name, port: targetPort, healthPath, targets },
        signal,
      }),
      LabLoadBalancer,
    );
  }

  deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void> {
    const target = path('load-balancers', name);
    return this.client.delete(this.on({ operation: 'delete load balancer', method: 'DELETE', path: target, signal }));
  }

  private on(call: Call): LabRequest {
    return { ...call, target: this.connection };
  }

  private async specs(operation: ProviderOperation, signal: AbortSignal): Promise<readonly MachineSpec[]> {
    const { items } = await this.client.get(this.on({ operation, method: 'GET', path: '/v1/specs', signal }), LabSpecs);
    return items.map(specOf);
  }

  /** An existing resource is not changed, because other clusters use it. */
  private async getOrPut<Answer>(
    call: Omit<Call, 'method'>,
    body: unknown,
    answer: z.ZodType<Answer>,
  ): Promise<Answer> {
    const found = await this.client.find(this.on({ ...call, method: 'GET' }), answer);
    return found ?? this.client.get(this.on({ ...call, method: 'PUT', body }), answer);
  }

  private askFor(group: MachineGroup, signal: AbortSignal): Promise<LabGroup> {
    const { name, namespace, cluster, uid, image, network, firewall, sshKey } = group;
    const machines = group.machines.map((machine) => ({ image, ...machine, network, firewall, sshKey }));
    const body = { cluster, namespace, uid, machines };
    const request = { operation: 'create machines', method: 'PUT', path: path('groups', name), body, signal } as const;
    return this.client.get(this.on(request), LabGroup);
  }

  private change(group: GroupRef, sinceRev: number, signal: AbortSignal): Promise<LabGroup> {
    const query = `changedSince=${sinceRev}&waitMs=${LONG_POLL_MS}`;
    return this.client.get(
      this.on({
        operation: 'create machines',
        method: 'GET',
        path: `${path('groups', group.name)}?${query}`,
        signal,
        waitMs: LONG_POLL_MS,
      }),
      LabGroup,
    );
  }
}
