import { wordsOf } from '@fairlead/contracts';
import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import * as z from 'zod';
import { newHostRecord } from '../hosts/host.record.js';
import type { DocumentStore } from '../persistence/document.store.js';
import { newHostKey } from '../ssh/host.keys.js';
import type { Addresses } from './addresses.js';
import { REGIONS, imageNamed } from './catalogue.js';
import { CloudFault, notFound } from './cloud.fault.js';
import { Machine, type MachineWorld } from './machine.js';
import { MachineRecord, MachineRequest, machineView } from './machine.record.js';
import { sizeBehind } from './reservations.js';
import type { Stats } from '../stats/stats.js';

const GROUPS = 'groups';
const MACHINES = 'machines';
const WAITERS_MAX = 10_000;
/** Limits how many machines start concurrently after a restart of the lab. */
const BEGIN_AT_ONCE_MAX = 32;
const MACHINES_PER_REQUEST_MAX = 2_000;

export const GroupRequest = z.strictObject({
  cluster: z.string().max(100),
  namespace: z.string().max(100),
  uid: z.string().min(1).max(100),
  machines: z.array(MachineRequest).min(1).max(MACHINES_PER_REQUEST_MAX),
});
export type GroupRequest = z.infer<typeof GroupRequest>;

const StoredGroup = z.object({
  name: z.string(),
  cluster: z.string(),
  namespace: z.string(),
  uid: z.string(),
  deleted: z.boolean(),
});
type StoredGroup = z.infer<typeof StoredGroup>;

export interface GroupView {
  readonly group: string;
  readonly uid: string;
  readonly rev: number;
  readonly machines: readonly ReturnType<typeof machineView>[];
}

interface Group {
  stored: StoredGroup;
  /** Increases with every change, also across restarts of the lab. */
  rev: number;
  readonly machines: Map<string, Machine>;
  /** The revision of the last change of a machine, by name; absent if it has not changed since the lab started. */
  readonly changes: Map<string, number>;
  readonly startedAtRev: number;
  readonly waiters: Set<() => void>;
}

export interface GroupsWorld extends Omit<MachineWorld, 'statusChanged' | 'anotherAddress'> {
  readonly store: DocumentStore;
  readonly stats: Stats;
  readonly addresses: Addresses;
  readonly machinesMax: number;
  hasNetwork(name: string): boolean;
  hasFirewall(name: string): boolean;
  /** Returns why no machine of a reserved size can be created now, or undefined if it can. */
  reservationFault(spec: string): CloudFault | undefined;
}

/** All machines, by the group in which they were requested. */
export class Groups {
  private readonly groups = new Map<string, Group>();
  private readonly machines = new Map<string, Machine>();
  private waiterCount = 0;

  constructor(private readonly world: GroupsWorld) {}

  /** Loads the state from before a restart and resumes every machine. Resolves once they have started. */
  async load(): Promise<void> {
    const { store, addresses } = this.world;
    for (const document of await store.readAll(GROUPS)) {
      const stored = StoredGroup.parse(document);
      this.groups.set(stored.name, newGroup(stored));
    }
    for (const document of await store.readAll(MACHINES)) {
      const record = MachineRecord.parse(document);
      addresses.reserve(record.address);
      this.add(new Machine(record, this.machineWorld()));
    }
    const limit = pLimit(BEGIN_AT_ONCE_MAX);
    await Promise.all([...this.machines.values()].map((machine) => limit(() => this.begin(machine))));
  }

  /** Replaces the requested machines of a group and returns their current state. */
  put(name: string, request: GroupRequest): GroupView {
    const existing = this.groups.get(name);
    if (existing?.stored.uid === request.uid && existing.stored.deleted) {
      throw new CloudFault(409, 'deleted', `group ${name} of cluster uid ${request.uid} was deleted`);
    }
    if (existing !== undefined && existing.stored.uid !== request.uid && !existing.stored.deleted) {
      throw new CloudFault(409, 'group-exists', `group ${name} belongs to cluster uid ${existing.stored.uid}`);
    }
    const group = existing?.stored.uid === request.uid ? existing : undefined;
    const missing = request.machines.filter((machine) => group?.machines.has(machine.name) !== true);
    const adopted = missing.flatMap((machine) => (machine.adopts === undefined ? [] : [this.adoptable(machine)]));
    const created = missing.filter(({ adopts }) => adopts === undefined);
    this.validate(created);
    const target = group ?? this.create(name, request);
    for (const machine of created) this.createMachine(target, machine);
    for (const { machine, as } of adopted) this.move(machine, target, as);
    if (missing.length > 0) this.changed(target, ...missing.map((machine) => machine.name));
    const requested = new Set(request.machines.map((machine) => machine.name));
    return viewOf(target, (machine) => requested.has(machine));
  }

  get(name: string): GroupView {
    return viewOf(this.require(name));
  }

  /** Returns what has changed in the group since `rev`. Waits up to `waitMs` for the first change. */
  async getChanged(name: string, rev: number, waitMs: number, signal: AbortSignal): Promise<GroupView> {
    const group = this.require(name);
    if (group.rev <= rev && waitMs > 0 && this.waiterCount < WAITERS_MAX) await this.wait(group, waitMs, signal);
    const { startedAtRev, changes } = this.require(name);
    return viewOf(this.require(name), (machine) => (changes.get(machine) ?? startedAtRev) > rev);
  }

  async delete(name: string): Promise<void> {
    const group = this.require(name);
    for (const machine of group.machines.values()) this.mayDelete(machine);
    group.stored = { ...group.stored, deleted: true };
    this.world.store.put(GROUPS, name, () => group.stored);
    const machines = [...group.machines.values()];
    for (const machine of machines) this.forget(machine);
    this.changed(group);
    await Promise.all(machines.map((machine) => this.destroy(machine)));
  }

  async deleteMachine(id: string): Promise<void> {
    const machine = this.machine(id);
    this.mayDelete(machine);
    this.forget(machine);
    await this.destroy(machine);
  }

  private mayDelete({ name }: Machine): void {
    const fault = this.world.faults.strike('delete-failure', name);
    if (fault !== undefined)
      throw new CloudFault(409, 'delete-failure', fault.message ?? `${name} cannot be deleted (fault of the lab)`);
  }

  machine(id: string): Machine {
    const machine = this.machines.get(id);
    if (machine === undefined) throw notFound(`machine ${id}`);
    return machine;
  }

  all(): readonly Machine[] {
    return [...this.machines.values()];
  }

  /** Every machine, with its group. */
  list() {
    return this.all().map(({ record }) => ({
      ...machineView(record),
      group: record.group,
      uid: this.groups.get(record.group)?.stored.uid ?? '',
    }));
  }

  find(id: string): Machine | undefined {
    return this.machines.get(id);
  }

  groupCount(): number {
    return [...this.groups.values()].filter(({ stored }) => !stored.deleted).length;
  }

  async close(): Promise<void> {
    await Promise.all([...this.machines.values()].map((machine) => machine.close()));
  }

  /** Schedules a write of the machine's record. */
  saveMachine(machine: Machine): void {
    const { record } = machine;
    if (!this.machines.has(record.id)) return; // Deleted in the meantime.
    this.world.store.put(MACHINES, record.id, () => ({
      ...record,
      files: machine.running === undefined ? record.files : machine.running.storedFiles(),
    }));
  }

  private validate(requests: readonly MachineRequest[]): void {
    const { faults, machinesMax, hasNetwork, hasFirewall, authorizedKeys, reservationFault } = this.world;
    const refuse = (code: string, message: string): never => {
      throw new CloudFault(422, code, message);
    };
    for (const request of requests) {
      if (sizeBehind(request.spec) === undefined) refuse('spec-unknown', `there is no spec ${request.spec}`);
      const unreserved = reservationFault(request.spec);
      if (unreserved !== undefined) throw unreserved;
      if (imageNamed(request.image) === undefined) refuse('image-unknown', `there is no image ${request.image}`);
      if (!hasNetwork(request.network)) refuse('network-unknown', `there is no network ${request.network}`);
      if (!hasFirewall(request.firewall)) refuse('firewall-unknown', `there is no firewall ${request.firewall}`);
      if (authorizedKeys(request.sshKey).length === 0)
        refuse('ssh-key-unknown', `there is no SSH key ${request.sshKey}`);
      if (request.zone !== undefined && !ZONES.includes(request.zone))
        refuse('zone-unknown', `there is no zone ${request.zone}`);
    }
    for (const request of requests) {
      const fault = faults.strike('quota', request.name);
      if (fault !== undefined) refuse('quota', fault.message ?? 'the quota of machines is used up (fault of the lab)');
    }
    if (this.machines.size + requests.length > machinesMax) {
      refuse('quota', `the quota of ${machinesMax} machines is used up`);
    }
  }

  private adoptable(as: MachineRequest): { readonly machine: Machine; readonly as: MachineRequest } {
    const { id, group } = as.adopts ?? { id: '', group: '' };
    const machine = this.machine(id);
    const { group: present } = machine.record;
    if (present !== group) throw new CloudFault(409, 'moved', `machine ${id} is in group ${present} and not ${group}`);
    return { machine, as };
  }

  /** Keeps the machine itself; only its name, labels and group change. */
  private move(machine: Machine, to: Group, { name, labels }: MachineRequest): void {
    const from = this.groups.get(machine.record.group);
    from?.machines.delete(machine.name);
    from?.changes.delete(machine.name);
    const { labels: _former, ...request } = machine.record.request;
    machine.record.group = to.stored.name;
    machine.record.request = { ...request, name, ...(labels === undefined ? {} : { labels }) };
    to.machines.set(name, machine);
    this.saveMachine(machine);
    if (from !== undefined && from !== to) this.changed(from);
  }

  private create(name: string, { cluster, namespace, uid }: GroupRequest): Group {
    const group = newGroup({ name, cluster, namespace, uid, deleted: false });
    this.groups.set(name, group);
    this.world.stats.wasCreated('group', name);
    this.world.store.put(GROUPS, name, () => group.stored);
    return group;
  }

  private createMachine(group: Group, request: MachineRequest): void {
    const address = this.takeAddress();
    const key = newHostKey();
    const record: MachineRecord = {
      id: `i-${randomBytes(6).toString('hex')}`,
      group: group.stored.name,
      request,
      region: REGION,
      zone: request.zone ?? ZONES[group.machines.size % ZONES.length] ?? '',
      address,
      hostKeyPem: key.privatePem,
      hostKey: key.fingerprint,
      status: 'creating',
      host: newHostRecord(request.name, ''),
      booted: false,
      partitioned: false,
      files: undefined,
    };
    const machine = new Machine(record, this.machineWorld());
    this.world.stats.wasCreated('machine', request.name);
    this.add(machine);
    this.saveMachine(machine);
    void this.begin(machine);
  }

  /** A bug of the lab or a full disk: the machine is shown as failed, with the error message. */
  private async begin(machine: Machine): Promise<void> {
    try {
      await machine.begin();
    } catch (error) {
      this.broke(machine, error);
    }
  }

  private broke(machine: Machine, error: unknown): void {
    machine.record.status = 'failed';
    machine.record.message = `the lab could not make the machine: ${wordsOf(error)}`;
    this.statusChanged(machine);
  }

  private add(machine: Machine): void {
    this.machines.set(machine.record.id, machine);
    this.groups.get(machine.record.group)?.machines.set(machine.name, machine);
  }

  private forget(machine: Machine): void {
    this.machines.delete(machine.record.id);
    this.world.store.remove(MACHINES, machine.record.id);
    const group = this.groups.get(machine.record.group);
    group?.machines.delete(machine.name);
    group?.changes.delete(machine.name);
    if (group !== undefined) this.changed(group);
  }

  private async destroy(machine: Machine): Promise<void> {
    await machine.delete();
    this.world.addresses.release(machine.record.address);
  }

  private machineWorld(): MachineWorld {
    return {
      ...this.world,
      statusChanged: (machine) => this.statusChanged(machine),
      anotherAddress: (former) => {
        const address = this.takeAddress();
        this.world.addresses.release(former);
        return address;
      },
    };
  }

  private takeAddress(): string {
    const address = this.world.addresses.take('machine');
    if (address === undefined) throw new CloudFault(422, 'quota', 'no address is left for a machine');
    return address;
  }

  private statusChanged(machine: Machine): void {
    this.saveMachine(machine);
    const group = this.groups.get(machine.record.group);
    if (group !== undefined) this.changed(group, machine.name);
  }

  private changed(group: Group, ...machines: readonly string[]): void {
    group.rev = Math.max(group.rev + 1, Date.now());
    for (const machine of machines) group.changes.set(machine, group.rev);
    for (const wake of [...group.waiters]) wake();
  }

  private async wait(group: Group, waitMs: number, signal: AbortSignal): Promise<void> {
    this.waiterCount += 1;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        group.waiters.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      group.waiters.add(wake);
      signal.addEventListener('abort', wake);
    });
    this.waiterCount -= 1;
  }

  private require(name: string): Group {
    const group = this.groups.get(name);
    if (group === undefined || group.stored.deleted) throw notFound(`group ${name}`);
    return group;
  }
}

const REGION = REGIONS[0]?.name ?? '';
const ZONES = REGIONS.flatMap(({ zones }) => zones);

const newGroup = (stored: StoredGroup): Group => {
  const rev = Date.now();
  return { stored, rev, machines: new Map(), changes: new Map(), startedAtRev: rev, waiters: new Set() };
};

const viewOf = (group: Group, isShown: (machine: string) => boolean = () => true): GroupView => ({
  group: group.stored.name,
  uid: group.stored.uid,
  rev: group.rev,
  machines: [...group.machines].flatMap(([name, { record }]) => (isShown(name) ? [machineView(record)] : [])),
});
