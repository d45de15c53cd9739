import { CONNECTIONS_STREAM, type ConnectionName, type Fact, type NodeName, type SecretRef } from '@fairlead/contracts';
import { connectionOfSshKey, NO_SSH_KEY, sshKeyAfter, type ConnectionSshKey } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, ownNamespaceStream, requestStream } from '../../test/memory.service.js';
import { Simulation } from '../../test/simulation.js';
import { sshKeyRefNamed } from '../resources/resources.planner.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Seconds on an idle machine; this allows for a busy one. */
const LIMIT_MS = 600_000;
const PARTS_MAX = 400;

const LAB = 'lab' as ConnectionName;
const FIRST = 'infra-svc.ssh-key.lab' as SecretRef;
const SECOND = 'infra-svc.ssh-key.lab_2' as SecretRef;

const rotation: Fact = { type: 'SshKeyRotationRequested', data: { name: LAB } };

const begin = async (simulation: Simulation): Promise<void> => {
  await simulation.say(ownNamespaceStream, {
    type: 'NamespaceCreated',
    data: { name: 'default' as never, description: '' },
  });
  await simulation.say(CONNECTIONS_STREAM, registered());
};

const keyIn = ({ log }: Simulation): ConnectionSshKey =>
  log.events
    .filter((event) => connectionOfSshKey(event) === LAB)
    .reduce((key, event) => sshKeyAfter(key, event), NO_SSH_KEY);

const count = ({ log }: Simulation, type: Fact['type']): number =>
  log.events.filter((event) => event.type === type).length;

interface Host {
  readonly uid: string;
  readonly cluster: string;
  readonly node: NodeName;
  readonly keyRef: string;
}

/** Hosts of clusters that take part in the rotation, with the key known to bootstrap-svc. */
const hostsIn = ({ log }: Simulation): readonly Host[] => {
  const hosts = new Map<string, Host>();
  for (const { type, data, meta } of log.events) {
    if (type === 'VmsCreated')
      for (const { name, ssh } of data.machines)
        hosts.set(name, { uid: data.uid, cluster: meta.cluster, node: name, keyRef: ssh.keyRef });
    if (type === 'AuthorizedKeyAdded') hosts.set(data.node, { ...hosts.get(data.node)!, keyRef: data.keyRef });
    if (type === 'VmDeleted') hosts.delete(data.name);
  }
  return [...hosts.values()];
};

/** bootstrap-svc replaces the key of one host; returns false if there is none to replace. */
const replaceOne = async (
  simulation: Simulation,
  isOff: (node: NodeName) => boolean = () => false,
): Promise<boolean> => {
  const reported = new Map(
    simulation.log.events.flatMap((event) =>
      event.type === 'SshKeyReplacementRequested' ? [[event.data.uid as string, event.data]] : [],
    ),
  );
  const due = hostsIn(simulation).filter(
    ({ uid, node, keyRef }) => reported.get(uid)?.former.keyRef === keyRef && !isOff(node),
  );
  const host = due[simulation.below(due.length)];
  const request = host && reported.get(host.uid);
  if (host === undefined || request === undefined) return false;
  const stream = { ...bootstrapStream, cluster: host.cluster };
  const { uid, keyRef, former } = request;
  await simulation.say(stream, { type: 'AuthorizedKeyAdded', data: { uid, node: host.node, keyRef, former } });
  await simulation.run(simulation.below(10));
  await simulation.say(stream, { type: 'AuthorizedKeyRemoved', data: { uid, node: host.node, keyRef: former.keyRef } });
  return true;
};

const secretsOf = async (simulation: Simulation): Promise<readonly boolean[]> =>
  Promise.all([FIRST, SECOND].map(async (ref) => (await simulation.secrets.get(ref)) !== undefined));

/** A key that a host needs is never destroyed. */
const expectNoneLocked = async (simulation: Simulation): Promise<void> => {
  for (const { node, keyRef } of hostsIn(simulation))
    if ((await simulation.secrets.get(keyRef)) === undefined)
      throw new Error(`${node} needs ${keyRef}, which is destroyed`);
};

/** The recorded key of a machine is the one with which the provider created it. */
const expectRecordedAsCreated = ({ log, cloud }: Simulation): void => {
  for (const { type, data } of log.events)
    if (type === 'VmCreated') {
      const { name, ssh } = data.machine;
      const sshKey = cloud.machines.get(name)?.sshKey ?? '';
      expect([name, ssh.keyRef]).toEqual([name, sshKeyRefNamed(LAB, sshKey)]);
    }
};

const untilRotated = async (simulation: Simulation): Promise<void> => {
  for (let part = 0; count(simulation, 'SshKeyRotated') === 0; part += 1) {
    if (part > PARTS_MAX) throw new Error(`the rotation never ends: ${JSON.stringify(keyIn(simulation))}`);
    await simulation.run(10);
    await replaceOne(simulation);
    await expectNoneLocked(simulation);
  }
};

const forAllSeeds = async (story: (simulation: Simulation) => Promise<void>): Promise<void> => {
  for (let seed = SEED_FIRST; seed < SEED_FIRST + SEEDS; seed += 1) {
    const simulation = new Simulation(seed);
    try {
      await story(simulation);
    } catch (error) {
      const events = simulation.log.events.map(({ type }) => type).join(' ');
      throw new Error(`SIM_SEED=${seed}: ${String(error)}\n${simulation.trace.slice(-30).join('\n')}\n${events}`, {
        cause: error,
      });
    }
  }
};

describe('the rotation of the SSH key of a connection', () => {
  it(
    'at any time during a creation, with lost calls, crashes and two replicas, destroys the former key once no host needs it',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        while (keyIn(simulation).current === null) await simulation.run(5);
        await simulation.run(simulation.below(100));
        await simulation.say(CONNECTIONS_STREAM, rotation);
        await simulation.run(simulation.below(60));
        const second = { namespace: 'default', cluster: 'second', context: 'request' };
        await simulation.say(second, requested(clusterSpec({ name: 'second' as never }), LATER_UID));
        await untilRotated(simulation);
        await simulation.run();
        expectRecordedAsCreated(simulation);
        expect(hostsIn(simulation)).toHaveLength(10);
        expect(new Set(hostsIn(simulation).map(({ keyRef }) => keyRef))).toEqual(new Set([SECOND]));
        expect([...simulation.cloud.sshKeys.keys()]).toEqual(['lab-sshkey-2']);
        expect(await secretsOf(simulation)).toEqual([false, true]);
        expect(
          ['SshKeyRotationStarted', 'SshKeyRotated'].map((type) => count(simulation, type as Fact['type'])),
        ).toEqual([1, 1]);
        expect(keyIn(simulation)).toMatchObject({
          current: { keyRef: SECOND },
          rotation: null,
          rotated: { leftOut: 0 },
        });
      }),
    LIMIT_MS,
  );

  it(
    'is followed by machines with the new key, and by the next rotation',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        await simulation.say(CONNECTIONS_STREAM, rotation);
        await untilRotated(simulation);
        await simulation.say(requestStream, {
          type: 'NodesRequested',
          data: { uid: UID, requestId: 'r1', workers: [nodeSet(2)], onFailure: 'keep' },
        });
        await simulation.run();
        expect(new Set(hostsIn(simulation).map(({ keyRef }) => keyRef))).toEqual(new Set([SECOND]));
        expect(hostsIn(simulation)).toHaveLength(7);
        await simulation.say(CONNECTIONS_STREAM, rotation);
        for (let part = 0; count(simulation, 'SshKeyRotated') < 2 && part < PARTS_MAX; part += 1) {
          await simulation.run(10);
          await replaceOne(simulation);
          await expectNoneLocked(simulation);
        }
        expect(new Set(hostsIn(simulation).map(({ keyRef }) => keyRef))).toEqual(new Set([`${FIRST}_3`]));
        expect(keyIn(simulation).rotated).toMatchObject({ replaced: 7, leftOut: 0 });
      }),
    LIMIT_MS,
  );

  it(
    'waits for a host that is off, names it, and leaves it out only when forced; the next rotation does not wait for it',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.say(requestStream, requested());
        await simulation.run();
        const off = hostsIn(simulation)[simulation.below(5)]!.node;
        const replaceOthers = () => replaceOne(simulation, (node) => node === off);
        await simulation.say(CONNECTIONS_STREAM, rotation);
        for (let part = 0; part < PARTS_MAX && keyIn(simulation).rotation?.pending !== 1; part += 1) {
          await simulation.run(10);
          await replaceOthers();
        }
        await simulation.run(100);
        expect(keyIn(simulation).rotation).toMatchObject({ status: 'replacing', replaced: 4, pending: 1 });
        expect(keyIn(simulation).rotation?.hosts).toEqual([{ namespace: 'default', cluster: 'demo', node: off }]);
        expect(await secretsOf(simulation)).toEqual([true, true]);
        await simulation.say(CONNECTIONS_STREAM, { type: 'SshKeyRotationForced', data: { name: LAB } });
        await simulation.run();
        expect(keyIn(simulation)).toMatchObject({ rotation: null, rotated: { replaced: 4, leftOut: 1 } });
        expect(await secretsOf(simulation)).toEqual([false, true]);
        await simulation.say(CONNECTIONS_STREAM, rotation);
        for (let part = 0; count(simulation, 'SshKeyRotated') < 2 && part < PARTS_MAX; part += 1) {
          await simulation.run(10);
          await replaceOthers();
        }
        expect(keyIn(simulation).rotated).toMatchObject({ replaced: 4, leftOut: 0 });
      }),
    LIMIT_MS,
  );
});
