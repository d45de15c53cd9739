import type { EventData, Fact, NodeName } from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { LAB, LATER_UID, nodeSet, requested, UID } from '../../test/fixtures.js';
import { Story } from '../../test/story.js';
import { rowFrom } from '../../test/rows.js';
import { resourcesStream } from '../resources/resources.decider.js';
import { resourcesProjection } from '../resources/resources.projection.js';
import { machineName } from './machines.planner.js';

const ADOPTED = machineName('demo', UID, 'worker', 3);
const stray = {
  id: 'i-1',
  name: 'stray-w-1-zzzzz' as NodeName,
  group: 'default.stray.lab',
  uid: LATER_UID,
  spec: 'lab.medium',
  zone: 'lab-1b',
  rootDisk: { type: 'default', size: 'default' },
  sshKey: 'key-of-an-earlier-installation',
  labels: {},
} as const;
const adoption = (requestId = 'r1', pool: object = {}): Fact => ({
  type: 'NodesRequested',
  data: {
    uid: UID,
    requestId,
    workers: [nodeSet(1, { pool: 'worker-1' as never, ...pool })],
    onFailure: 'keep',
    adopts: stray.id,
  },
});

describe('an orphan machine that a pool adopts', () => {
  let story: Story;
  const begin = async (problemsOfHosts?: readonly string[] | null): Promise<void> => {
    story = new Story(problemsOfHosts === undefined ? {} : { problemsOfHosts });
    await story.begin();
    await story.request(requested());
    story.cloud.machines.set(stray.name, stray);
  };
  const rejected = (): Pick<EventData<'NodesRejected'>, 'code' | 'message'> => story.last('NodesRejected');
  const untouched = (): void => {
    expect(story.cloud.machines.get(stray.name)).toEqual(stray);
    expect(story.types().filter((type) => type === 'VmsPlanned')).toHaveLength(1);
  };

  beforeEach(() => begin());

  it('keeps its ID and its zone, gets the name of a node, and is announced like any other', async () => {
    await story.request(adoption());
    const adopts = { id: stray.id, group: stray.group };
    expect(story.last('VmsPlanned').machines).toMatchObject([
      { name: ADOPTED, pool: 'worker-1', zone: 'lab-1b', adopts },
    ]);
    expect(story.last('VmsCreated').machines).toMatchObject([{ name: ADOPTED, providerId: 'lab://i-1' }]);
    expect(story.cloud.machines.get(ADOPTED)).toMatchObject({ id: 'i-1', group: 'default.demo.lab', uid: UID });
    expect([story.cloud.machines.has(stray.name), story.cloud.creations.get(`machine ${ADOPTED}`)]).toEqual([
      false,
      undefined,
    ]);
  });

  it('is no longer an orphan once it runs as a node, which the history of its connection states', async () => {
    const { id, name, group } = stray;
    const found = { connection: LAB, id, name, group, status: 'running' } as const;
    await story.log.say(resourcesStream(LAB), { type: 'OrphanVmFound', data: found });
    await story.request(adoption());
    const of = { namespace: 'default', cluster: 'demo', uid: UID, node: ADOPTED };
    expect(story.last('OrphanVmAdopted')).toEqual({ connection: LAB, id, ...of });
    expect(rowFrom(resourcesProjection, story.log.events, LAB)?.orphans).toEqual([]);
  });

  it('is deleted with its node like any other', async () => {
    await story.request(adoption());
    await story.request({ type: 'NodesAbandoned', data: { uid: UID, requestId: 'r1', nodes: [ADOPTED] } });
    await story.request({ type: 'NodeRemoved', data: { uid: UID, node: ADOPTED } });
    expect(story.last('VmDeleted')).toEqual({ uid: UID, name: ADOPTED });
    expect(story.cloud.machines.has(ADOPTED)).toBe(false);
  });

  it('is refused if it is already a machine of a cluster', async () => {
    await story.request(adoption());
    story.cloud.machines.set('again', { ...stray, group: 'default.demo.lab', name: ADOPTED });
    await story.request(adoption('r2'));
    expect(rejected()).toMatchObject({
      code: 'connection.orphan-recorded',
      message: "Machine i-1 of connection 'lab' already belongs to default/demo",
    });
  });

  it.each([
    ['machine type', { spec: 'lab.thin' }, {}, 'its machine type is lab.thin and not lab.medium'],
    ['image', { image: 'debian-13' }, {}, 'its image is debian-13 and not debian-12'],
    ['zone', {}, { zones: ['lab-1a', 'lab-1c'] }, 'its zone is lab-1b and not lab-1a or lab-1c'],
  ])("is refused if its %s differs from the pool's, and is not changed", async (_what, machine, pool, words) => {
    const other = { ...stray, ...machine };
    story.cloud.machines.set(stray.name, other);
    await story.request(adoption('r1', pool));
    expect(rejected()).toMatchObject({ code: 'connection.orphan-unfit', message: expect.stringContaining(words) });
    expect(story.cloud.machines.get(stray.name)).toEqual(other);
  });

  it('is refused if it does not run', async () => {
    story.cloud.failed.set(stray.name, 'no boot device');
    await story.request(adoption());
    expect(rejected().message).toContain('it is failed and not running');
    untouched();
  });

  it('is refused if it is already a Kubernetes node: remains of an earlier installation would respond for it', async () => {
    await begin(['it is a Kubernetes node already (/etc/kubernetes/kubelet.conf exists)']);
    await story.request(adoption());
    expect(rejected()).toMatchObject({ code: 'connection.orphan-unclean' });
    expect(rejected().message).toContain('it is a Kubernetes node already');
    untouched();
  });

  it('is refused if it does not accept the SSH key of the connection', async () => {
    await begin(null);
    await story.request(adoption());
    expect(rejected()).toMatchObject({
      code: 'connection.orphan-unclean',
      message: expect.stringContaining('open SSH: no route to host'),
    });
    untouched();
  });

  it('is refused if the provider does not list it', async () => {
    story.cloud.machines.delete(stray.name);
    await story.request(adoption());
    expect(rejected().code).toBe('connection.orphan-unknown');
  });

  it('is not taken from a group other than the one where it was found, and no machine is created instead', async () => {
    story.beforeCall = (operation) => {
      if (operation === 'create machines')
        story.cloud.machines.set(stray.name, { ...stray, group: 'default.other.lab' });
    };
    await story.request(adoption());
    expect(story.last('VmsFailed')).toMatchObject({
      requestId: 'r1',
      onFailure: 'keep',
      cause: { message: 'i-1 is not in group default.stray.lab' },
    });
    expect(story.cloud.machines.get(stray.name)?.group).toBe('default.other.lab');
    expect(story.cloud.machines.has(ADOPTED)).toBe(false);
  });
});
