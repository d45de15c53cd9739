import { isRefusal, type ClusterUid, type Namespace, type NodeName } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { registered } from '../../../test/fixtures.js';
import { LAB_TOKEN, startLab, type LabProcess } from '../../../test/lab.process.js';
import type { InfrastructureProvider, MachineAnswer, MachineGroup } from '../../providers/provider.ports.js';
import { describeProvider } from '../provider.features.js';
import { opensshKeys } from '../ssh-keys/openssh.keys.js';
import { labKind } from './lab.kind.js';

const LIMITS = { callsMax: 16, timeoutMs: 10_000 };

const open = (endpoint: string, token: string | undefined, limits = LIMITS): InfrastructureProvider => {
  const connection = { ...registered({ settings: { endpoint } }).data, registration: 'event-1' };
  const provider = labKind(limits).open(connection, token);
  if (isRefusal(provider)) throw new Error(provider.message);
  return provider;
};

describeProvider('lab', async () => {
  const lab = await startLab();
  return {
    open: () => open(lab.endpoint, LAB_TOKEN),
    connection: 'lab',
    region: 'lab-1',
    spec: 'lab.medium',
    otherImage: 'debian-13',
    publicKey: opensshKeys.generate('spec').publicKey,
    adopts: true,
    stop: () => lab.stop(),
  };
});

describe('a lab connection', () => {
  let lab: LabProcess;
  const signal = (): AbortSignal => AbortSignal.timeout(30_000);
  const { publicKey } = opensshKeys.generate('spec');

  const groupOf = (count: number): MachineGroup => {
    const uid = randomUUID() as ClusterUid;
    const cluster = `c${uid.slice(0, 6)}`;
    return {
      name: `spec.${cluster}.lab`,
      namespace: 'spec' as Namespace,
      cluster,
      uid,
      image: 'debian-12',
      network: 'n',
      firewall: 'f',
      sshKey: 'k',
      machines: Array.from({ length: count }, (_, at) => ({
        name: `${cluster}-w-${at + 1}-aaaaa` as NodeName,
        spec: 'lab.small',
        zone: 'lab-1b',
        rootDisk: { type: 'default', size: 'default' },
        labels: {},
      })),
    };
  };
  const make = async (group: MachineGroup, within = signal()): Promise<readonly MachineAnswer[]> => {
    const answers: MachineAnswer[] = [];
    for await (const answer of open(lab.endpoint, LAB_TOKEN).ensureMachines(group, within)) answers.push(answer);
    return answers;
  };

  beforeAll(async () => {
    lab = await startLab();
    const provider = open(lab.endpoint, LAB_TOKEN);
    await provider.ensureNetwork({ name: 'n', subnet: 's', cidr: '192.168.1.0/24' }, signal());
    await provider.ensureFirewall({ name: 'f', rules: [] }, signal());
    await provider.ensureSshKey({ name: 'k', publicKey }, signal());
  }, 60_000);

  afterAll(() => lab?.stop());

  it('creates shared resources once, after checking for existing ones [CB-Ladybug 7]', async () => {
    const provider = open(lab.endpoint, LAB_TOKEN);
    await provider.ensureNetwork({ name: 'n', subnet: 's', cidr: '192.168.1.0/24' }, signal());
    expect(await lab.created()).toMatchObject({ 'network/n': 1, 'firewall/f': 1, 'sshKey/k': 1 });
  });

  it('creates a machine in the requested zone', async () => {
    const [machine] = await make(groupOf(1));
    expect(machine).toMatchObject({ status: 'running', zone: 'lab-1b', region: 'lab-1', ssh: { user: 'root' } });
    if (machine?.status === 'running') expect(machine.ssh.hostKey).toMatch(/^SHA256:/);
  });

  it("reports the machine that did not boot, with the lab's message, together with those that did", async () => {
    const group = groupOf(2);
    await lab.faults([{ kind: 'boot-failure', machine: '*-w-2-*', message: 'no boot device', times: 1 }]);
    const answers = await make(group);
    const failed = answers.find(({ status }) => status === 'failed');
    expect(failed).toMatchObject({ name: group.machines[1]!.name, message: 'no boot device' });
    expect(answers.filter(({ status }) => status === 'running')).toHaveLength(1);
    await open(lab.endpoint, LAB_TOKEN).deleteMachine(failed!.id, signal());
    expect((await make(group)).every(({ status }) => status === 'running')).toBe(true);
  });

  it('reports an exceeded quota, which is not retried', async () => {
    await lab.faults([{ kind: 'quota', message: 'Quota INSTANCES exceeded', times: 1 }]);
    await expect(make(groupOf(1))).rejects.toMatchObject({
      name: 'ExternalFailure',
      operation: 'create machines',
      target: 'lab',
      message: 'Quota INSTANCES exceeded',
      retryable: false,
    });
  });

  it('waits with a long poll, which ends when it is aborted', async () => {
    await lab.faults([{ kind: 'boot-slow', delayMs: 60_000, times: 1 }]);
    const abort = new AbortController();
    const waiting = make(groupOf(1), abort.signal);
    setTimeout(() => abort.abort(new Error('never mind')), 300);
    const startedAt = Date.now();
    await expect(waiting).rejects.toThrow('never mind');
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    await lab.faults([]);
  });

  it('times out', async () => {
    await lab.faults([{ kind: 'api-slow', delayMs: 5_000, times: 1 }]);
    const impatient = open(lab.endpoint, LAB_TOKEN, { callsMax: 1, timeoutMs: 200 });
    await expect(impatient.listSpecs(signal())).rejects.toMatchObject({
      message: `${lab.endpoint}: no answer within 200 ms`,
      retryable: true,
    });
    await lab.faults([]);
  });

  it('reserves machines, extends reservations, passes denials on, and forgets released ones', async () => {
    const { reservations } = open(lab.endpoint, LAB_TOKEN);
    const { machines: _machines, ...of } = groupOf(1);
    const endsAt = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
    const desired = {
      name: `${of.name}.${of.uid}`,
      group: of,
      startsAt: null,
      machines: [{ spec: 'lab.small', count: 2 }],
    };
    const made = await reservations!.ensure({ ...desired, endsAt: endsAt(1) }, signal());
    expect(made).toMatchObject({ status: 'active', sizes: { 'lab.small': expect.stringMatching(/^lab\.small\.r-/) } });
    const size = made.status === 'active' ? (made.sizes['lab.small'] ?? '') : '';
    const group = groupOf(1);
    const [machine] = await make({ ...group, machines: group.machines.map((one) => ({ ...one, spec: size })) });
    expect(machine?.status).toBe('running');
    expect(await reservations!.ensure({ ...desired, endsAt: endsAt(2) }, signal())).toEqual(made);
    await lab.faults([{ kind: 'reservation-denied', message: 'not enough capacity', times: 1 }]);
    const denied = { status: 'denied', message: 'not enough capacity' };
    expect(await reservations!.ensure({ ...desired, endsAt: endsAt(3) }, signal())).toEqual(denied);
    expect(await reservations!.describe(desired.name, signal())).toEqual(made);
    for (const _again of [1, 2]) await reservations!.release(desired.name, signal());
    expect(await reservations!.describe(desired.name, signal())).toBeUndefined();
    expect(await reservations!.ensure({ ...desired, endsAt: endsAt(1) }, signal())).toMatchObject({ status: 'denied' });
  });

  it('reports a wrong token, which is not retried', async () => {
    await expect(open(lab.endpoint, 'another token').verify(signal())).rejects.toMatchObject({
      operation: 'verify connection',
      retryable: false,
    });
  });

  it('reports an unreachable lab as retryable, without a statement about its machines', async () => {
    const group = groupOf(1);
    await make(group);
    await lab.halt();
    const failure = { name: 'ExternalFailure', operation: 'describe machines', retryable: true };
    await expect(open(lab.endpoint, LAB_TOKEN).describeMachines(group, signal())).rejects.toMatchObject(failure);
    await lab.restart();
    expect(await open(lab.endpoint, LAB_TOKEN).describeMachines(group, signal())).toHaveLength(1);
  }, 60_000);

  it('cannot be opened with invalid settings', () => {
    const connection = { ...registered({ settings: { endpoint: 'somewhere' } }).data, registration: 'event-1' };
    expect(labKind(LIMITS).open(connection, LAB_TOKEN)).toMatchObject({ code: 'connection.settings-invalid' });
  });
});
