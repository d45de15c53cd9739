import {
  CLUSTER_NAME_LENGTH_MAX,
  shortened,
  type ClusterUid,
  type Namespace,
  type NodeName,
} from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type {
  GroupRef,
  InfrastructureProvider,
  LoadBalancerSpec,
  MachineAnswer,
  MachineGroup,
  MachineReport,
} from '../providers/provider.ports.js';

/** The parameters of the port's specification for one provider. */
export interface ProviderUnderTest {
  /** Opens the same connection again, without state that the provider does not have itself. */
  open(): InfrastructureProvider;
  /** The name of the connection. */
  readonly connection: string;
  readonly region: string;
  /** A machine size that can run a control plane. */
  readonly spec: string;
  readonly publicKey: string;
  /** A range for networks that the provider can create; absent: any private one. */
  readonly cidr?: string;
  /** Whether machines can move into another group. */
  readonly adopts?: true;
  /** An image beside that of the connection; absent: its machines have no choice. */
  readonly otherImage?: string;
  stop(): Promise<void>;
}

const SIGNAL_MS = 60_000;

const collect = async (answers: AsyncIterable<MachineAnswer>): Promise<readonly MachineAnswer[]> => {
  const all: MachineAnswer[] = [];
  for await (const answer of answers) all.push(answer);
  return all;
};

/** The specification of the provider port for any provider; `withinMs`: the time limit of one step. */
export const describeProvider = (name: string, start: () => Promise<ProviderUnderTest>, withinMs = SIGNAL_MS): void => {
  describe(`the provider ${name}`, () => {
    jest.setTimeout(withinMs); // Real machines are slow to boot.
    let under: ProviderUnderTest;
    const started: GroupRef[] = [];
    const signal = (): AbortSignal => AbortSignal.timeout(withinMs);

    const newGroup = (lengthMin = 0): GroupRef => {
      const uid = randomUUID() as ClusterUid;
      const [namespace, cluster] = ['spec'.padEnd(lengthMin, 'n'), `c${uid.slice(0, 6)}`.padEnd(lengthMin, 'c')];
      const name = `${namespace}.${cluster}.${under.connection}`;
      const group = { name, namespace: namespace as Namespace, cluster, uid };
      started.push(group);
      return group;
    };

    const desired = (group: GroupRef, count: number): MachineGroup => ({
      ...group,
      image: 'debian-12',
      network: 'spec-vpc',
      firewall: 'spec-sg',
      sshKey: 'spec-sshkey',
      machines: Array.from({ length: count }, (_, at) => ({
        name: `${shortened(group.cluster, 40)}-w-${at + 1}-aaaaa` as NodeName,
        spec: under.spec,
        zone: undefined,
        rootDisk: { type: 'default', size: 'default' },
        labels: { 'fairlead.dev/cluster': group.cluster },
      })),
    });

    const balancer = (group: GroupRef, targets: readonly string[]): LoadBalancerSpec => ({
      name: `${group.namespace}.${group.cluster}`,
      group,
      kind: 'haproxy',
      targetPort: 6443,
      healthPath: '/readyz',
      targets,
    });

    const untilGone = (group: GroupRef): Promise<readonly MachineReport[]> =>
      eventually(
        () => under.open().describeMachines(group, signal()),
        (left) => left.length === 0,
        { withinMs, everyMs: 100 },
      );

    const rules = [
      { protocol: 'tcp', ports: { from: 22, to: 22 }, source: '0.0.0.0/0' },
      { protocol: 'icmp', ports: null, source: '0.0.0.0/0' },
    ] as const;
    const desiredNetwork = () => ({ name: 'spec-vpc', subnet: 'spec-subnet', cidr: under.cidr ?? '192.168.77.0/24' });

    const prepare = async (): Promise<void> => {
      under = await start();
      const provider = under.open();
      await provider.ensureNetwork(desiredNetwork(), signal());
      await provider.ensureFirewall({ name: 'spec-sg', rules }, signal());
      await provider.ensureSshKey({ name: 'spec-sshkey', publicKey: under.publicKey }, signal());
    };
    let preparing: Promise<void> = Promise.resolve();

    beforeAll(() => {
      preparing = prepare();
      return preparing;
    }, withinMs);

    afterAll(async () => {
      // A preparation that failed or timed out may still have started something.
      await preparing.catch(() => undefined);
      for (const group of started) await under?.open().deleteGroup(group, signal());
      await under?.stop();
    }, withinMs);

    it('responds, and reports its capabilities', async () => {
      const capabilities = await under.open().verify(signal());
      expect(typeof capabilities.nlb).toBe('boolean');
      expect(typeof capabilities.simulated).toBe('boolean');
    });

    it('lists machine sizes, and finds each by name', async () => {
      const specs = await under.open().listSpecs(signal());
      expect(specs.length).toBeGreaterThan(0);
      for (const spec of specs) expect(await under.open().resolveSpec(spec.name, signal())).toEqual(spec);
    });

    it('reports an unknown size or region as missing, not as a failure', async () => {
      expect(await under.open().resolveSpec('no-such-size', signal())).toBeUndefined();
      expect(await under.open().resolveRegion('no-such-region', signal())).toBeUndefined();
      expect((await under.open().resolveRegion(under.region, signal()))?.name).toBe(under.region);
    });

    it('has an image', async () => expect((await under.open().resolveImage(signal())).os).not.toBe(''));

    it('does not change an existing network, firewall or key [ORBITER 4, CB-Ladybug 7]', async () => {
      const provider = under.open();
      const other = { ...desiredNetwork(), cidr: '192.168.78.0/24' };
      expect(await provider.ensureNetwork(other, signal())).toEqual(desiredNetwork());
      expect((await provider.ensureFirewall({ name: 'spec-sg', rules }, signal())).name).toBe('spec-sg');
      const key = await provider.ensureSshKey({ name: 'spec-sshkey', publicKey: under.publicKey }, signal());
      expect(key.publicKey).toBe(under.publicKey);
    });

    it('deletes a key idempotently, and recreates it', async () => {
      const provider = under.open();
      const old = { name: 'spec-sshkey-2', publicKey: under.publicKey };
      await provider.ensureSshKey(old, signal());
      await provider.deleteSshKey(old.name, signal());
      await provider.deleteSshKey(old.name, signal());
      expect((await provider.ensureSshKey(old, signal())).publicKey).toBe(under.publicKey);
    });

    it('has no machines of a group that was never requested', async () =>
      expect(await under.open().describeMachines(newGroup(), signal())).toEqual([]));

    it('creates every machine of a group once, with addresses, however often it is requested [ORBITER 4]', async () => {
      const group = desired(newGroup(), 2);
      const answers = await collect(under.open().ensureMachines(group, signal()));
      expect(answers.map(({ name: answered }) => answered).sort()).toEqual(
        group.machines.map((machine) => machine.name),
      );
      for (const answer of answers) {
        if (answer.status !== 'running') throw new Error(`${answer.name} is ${answer.status}`);
        expect(answer.publicIp + answer.privateIp).not.toBe('');
        expect(answer.ssh.port).toBeGreaterThan(0);
        expect(answer.uid).toBe(group.uid);
      }
      const again = await collect(under.open().ensureMachines(group, signal()));
      expect(again.map(({ id }) => id).sort()).toEqual(answers.map(({ id }) => id).sort());
      expect(await under.open().describeMachines(group, signal())).toHaveLength(2);
    });

    it('lists the machines of all groups at once, with their groups, while they exist', async () => {
      const groups = [desired(newGroup(), 1), desired(newGroup(), 2)];
      for (const group of groups) await collect(under.open().ensureMachines(group, signal()));
      const mine = async () =>
        (await under.open().listMachines(signal()))
          .filter(({ group }) => groups.some(({ name: own }) => own === group))
          .map(({ group, name: machine, uid, status }) => [group, machine, uid, status]);
      const expected = groups.flatMap(({ name: group, uid, machines }) =>
        machines.map((machine) => [group, machine.name, uid, 'running']),
      );
      expect((await mine()).sort()).toEqual(expected.sort());
      await under.open().deleteGroup(groups[0]!, signal());
      await untilGone(groups[0]!);
      expect((await mine()).map(([group]) => group)).toEqual([groups[1]!.name, groups[1]!.name]);
      await under.open().deleteGroup(groups[1]!, signal());
      await untilGone(groups[1]!);
      expect(await mine()).toEqual([]);
    });

    it('creates only missing machines of a group, and changes nothing else', async () => {
      const ref = newGroup();
      const [first] = await collect(under.open().ensureMachines(desired(ref, 1), signal()));
      const both = await collect(under.open().ensureMachines(desired(ref, 2), signal()));
      expect(both).toHaveLength(2);
      expect(both.map(({ id }) => id)).toContain(first?.id);
    });

    it('deletes one machine and keeps the others', async () => {
      const group = desired(newGroup(), 2);
      const [gone, stays] = await collect(under.open().ensureMachines(group, signal()));
      await under.open().deleteMachine(gone!.id, signal());
      await under.open().deleteMachine(gone!.id, signal());
      const left = await under.open().describeMachines(group, signal());
      expect(left.filter(({ id }) => id === gone!.id)).toEqual([]);
      expect(left.map(({ id }) => id)).toEqual([stays!.id]);
    });

    it('deletes all machines of a group, idempotently, and never recreates them', async () => {
      const group = desired(newGroup(), 2);
      await collect(under.open().ensureMachines(group, signal()));
      await under.open().deleteGroup(group, signal());
      await under.open().deleteGroup(group, signal());
      expect(await untilGone(group)).toEqual([]);
      await expect(collect(under.open().ensureMachines(group, signal()))).rejects.toMatchObject({
        name: 'ExternalFailure',
        retryable: false,
      });
      expect(await under.open().describeMachines(group, signal())).toEqual([]);
    });

    it('does not delete the machines of another incarnation with the same name', async () => {
      const group = desired(newGroup(), 1);
      const [machine] = await collect(under.open().ensureMachines(group, signal()));
      await under.open().deleteGroup({ ...group, uid: randomUUID() as ClusterUid }, signal());
      expect((await under.open().describeMachines(group, signal())).map(({ id }) => id)).toEqual([machine?.id]);
    });

    it('gives a machine the image that it is declared with, and others that of the group', async () => {
      const { otherImage } = under;
      if (otherImage === undefined) return;
      const provider = under.open();
      const group = desired(newGroup(), 2);
      const image = (await provider.resolveImage(signal())).name;
      const machines = group.machines.map((machine, at) => (at === 0 ? { ...machine, image: otherImage } : machine));
      await collect(provider.ensureMachines({ ...group, image, machines }, signal()));
      const listed = (await provider.listMachines(signal())).filter(({ uid }) => uid === group.uid);
      expect(new Map(listed.map((one) => [one.name, one.image]))).toEqual(
        new Map([
          [machines[0]!.name, otherImage],
          [machines[1]!.name, image],
        ]),
      );
    });

    it('moves an adopted machine into another group once, with its ID, and only from the named group', async () => {
      const provider = under.open();
      if (under.adopts !== true) return;
      const from = newGroup();
      const [stray] = await collect(provider.ensureMachines(desired(from, 1), signal()));
      const listed = (await provider.listMachines(signal())).find(({ id }) => id === stray!.id);
      expect(listed).toMatchObject({ spec: under.spec, image: (await provider.resolveImage(signal())).name });
      const into = desired(newGroup(), 1);
      const adopting = (group: string): MachineGroup => ({
        ...into,
        machines: into.machines.map((machine) => ({ ...machine, adopts: { id: stray!.id, group } })),
      });
      await expect(collect(provider.ensureMachines(adopting('spec.other.group'), signal()))).rejects.toMatchObject({
        retryable: false,
      });
      expect(await provider.describeMachines(into, signal())).toEqual([]);
      for (let time = 1; time <= 2; time += 1) {
        const moved = await collect(under.open().ensureMachines(adopting(from.name), signal()));
        const { name: adopted } = into.machines[0]!;
        expect(moved).toMatchObject([{ id: stray!.id, name: adopted, uid: into.uid, status: 'running' }]);
      }
      expect(await under.open().describeMachines(from, signal())).toEqual([]);
      await provider.deleteGroup(from, signal());
      expect((await provider.describeMachines(into, signal())).map(({ id }) => id)).toEqual([stray!.id]);
      await provider.deleteGroup(into, signal());
      expect(await untilGone(into)).toEqual([]);
    });

    it('gives a load balancer an address that does not change with its targets [ORBITER 4]', async () => {
      const group = desired(newGroup(CLUSTER_NAME_LENGTH_MAX), 2);
      const ids = (await collect(under.open().ensureMachines(group, signal()))).map(({ id }) => id);
      const first = await under.open().ensureLoadBalancer(balancer(group, ids), signal());
      expect(first.port).toBeGreaterThan(0);
      const second = await under.open().ensureLoadBalancer(balancer(group, ids.slice(1)), signal());
      expect(second).toEqual(first);
      await under.open().deleteLoadBalancer(first.name, signal());
      await under.open().deleteLoadBalancer(first.name, signal());
    });

    it('stops at once when aborted', async () => {
      const abort = new AbortController();
      abort.abort(new Error('no one waits'));
      await expect(under.open().listSpecs(abort.signal)).rejects.toThrow('no one waits');
      await expect(collect(under.open().ensureMachines(desired(newGroup(), 1), abort.signal))).rejects.toThrow(
        'no one waits',
      );
    });
  });
};
