import type { ClusterView, Machine, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { certificatesEnd, kubeletCertificateEnds } from './ended.certificates.js';
import { fairleadOf, type Fairlead } from './fairlead.js';
import { eventually, nodesOf, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, VERSION, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'ended';
const PATH = `/ns/default/clusters/${CLUSTER}`;
const CONTROL_PLANES = Number(process.env['FAIRLEAD_REAL_CONTROL_PLANES'] ?? 3);
/** Remaining lifetime of certificates that are shortened while everything runs. */
const LEFT_MS = 40_000;
const KUBELET_PEM = '/var/lib/kubelet/pki/kubelet-client-current.pem';

const say = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`);

describe(`${CONTROL_PLANES} control planes of ${VERSION} with only expired certificates`, () => {
  let system: RealSystem;
  let fairlead: Fairlead;
  let machines: readonly Machine[];

  const hostOf = ({ providerId }: Machine): string => providerId.split('/').at(-1) ?? '';
  const controlPlanes = (): readonly Machine[] => machines.filter(({ role }) => role !== 'worker');
  const onAll = (script: string): Promise<readonly string[]> =>
    Promise.all(controlPlanes().map((machine) => system.onHost(hostOf(machine), 'bash', '-ec', script)));
  const condition = async () =>
    (await system.call<ClusterView>('GET', PATH)).body.conditions?.find(({ type }) => type === 'CertificatesValid');
  const api = (): Promise<'answers' | 'refuses'> =>
    system
      .kubectl(CLUSTER)
      .then((kubectl) => kubectl('get', 'nodes', '--request-timeout=5s'))
      .then(
        () => 'answers' as const,
        () => 'refuses' as const,
      );
  const allReady = (): Promise<unknown> =>
    eventually(
      'all nodes to be Ready',
      async () => nodesOf(await system.kubectl(CLUSTER)),
      (nodes) => nodes.length === machines.length && nodes.every(({ ready }) => ready),
      4 * MINUTE_MS,
    );
  /** Days left, according to openssl. */
  const daysLeft = async (machine: Machine): Promise<readonly number[]> => {
    const files = `for file in /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt ${KUBELET_PEM}; do case $file in */ca.crt|*-ca.crt) ;; *) openssl x509 -in "$file" -noout -enddate;; esac; done`;
    const printed = await system.onHost(hostOf(machine), 'bash', '-ec', files);
    return printed
      .trim()
      .split('\n')
      .map((line) => (Date.parse(line.replace('notAfter=', '')) - Date.now()) / 86_400_000);
  };
  const renewed = async (): Promise<void> => {
    const beganAt = Date.now();
    const known = (await system.events(CLUSTER)).length;
    say(await fairlead('certificates', 'renew', CLUSTER, '--yes'));
    const completed = (await system.events(CLUSTER)).slice(known).filter(({ type }) => type === 'RolloutCompleted');
    expect(completed).toHaveLength(1);
    say(`renewed after ${((Date.now() - beganAt) / 1_000).toFixed(0)} s`);
    expect(await api()).toBe('answers');
    await allReady();
    for (const machine of controlPlanes()) {
      const days = await daysLeft(machine);
      expect([machine.name, days.filter((left) => left < 300)]).toEqual([machine.name, []]);
      expect(days.length).toBeGreaterThanOrEqual(8);
    }
    await eventually('the certificates to be valid', condition, (seen) => seen?.status === 'True', 2 * MINUTE_MS);
  };

  beforeAll(async () => {
    system = await startRealSystem();
    fairlead = fairleadOf(system);
    machines = machinesOf(await system.create(CLUSTER, { controlPlanes: CONTROL_PLANES, workers: 1 }));
  }, 15 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it(
    'that expired during operation, including those of etcd and its members, are repaired by one command without the API',
    async () => {
      const end = new Date(Date.now() + LEFT_MS);
      await onAll(certificatesEnd(end, { kubelet: false }));
      // The agent reads certificates at its start.
      await onAll('systemctl restart fairlead-agent');
      const isNamed = (seen: { status: string; message: string } | undefined): boolean =>
        seen?.status === 'False' && / ended at /.test(seen.message);
      const named = await eventually('the condition that says so', condition, isNamed, 4 * MINUTE_MS);
      say(`CertificatesValid: ${named?.message}`);
      expect(named?.message).toContain('fairlead certificates renew');
      // Existing connections continue with the old certificates; restarted components do not.
      await onAll(
        'for name in kube-apiserver etcd; do crictl=\'\'; ctr -n k8s.io tasks kill --signal SIGKILL $(ctr -n k8s.io containers list -q "labels.\\"io.kubernetes.container.name\\"==$name" | while read -r id; do ctr -n k8s.io tasks list -q | grep -x $id; done); done || true',
      );
      await eventually('the API to refuse everyone', api, (seen) => seen === 'refuses', 2 * MINUTE_MS);
      await renewed();
    },
    14 * MINUTE_MS,
  );

  it(
    "that expired while the hosts were off, including the kubelets', are repaired by one command without the API",
    async () => {
      await onAll('systemctl stop kubelet fairlead-agent');
      await onAll(certificatesEnd(new Date(Date.now() - MINUTE_MS), { kubelet: true }));
      for (const machine of controlPlanes()) await system.local.hosts.powerCut(hostOf(machine));
      for (const machine of controlPlanes()) await system.local.hosts.start(hostOf(machine));
      for (const machine of controlPlanes())
        await system.local.hosts.untilReachable(hostOf(machine), AbortSignal.timeout(MINUTE_MS));
      const named = await eventually(
        'the condition that says so',
        condition,
        (seen) => seen?.status === 'False',
        4 * MINUTE_MS,
      );
      say(`CertificatesValid: ${named?.message}`);
      expect(await api()).toBe('refuses');
      await renewed();
    },
    14 * MINUTE_MS,
  );

  it(
    'and the kubelet of a worker: it is reported, and its replacement is Ready',
    async () => {
      const worker = machines.find(({ role }) => role === 'worker');
      const [first] = controlPlanes();
      if (worker === undefined || first === undefined) throw new Error('there is no worker');
      const pem = await system.onHost(hostOf(worker), 'sh', '-c', `systemctl stop kubelet; cat ${KUBELET_PEM}`);
      const ended = kubeletCertificateEnds(new Date(Date.now() - MINUTE_MS), pem);
      const text = Buffer.from(await system.onHost(hostOf(first), 'bash', '-ec', ended)).toString('base64');
      const put = `echo ${text} | base64 -d >$(readlink -f ${KUBELET_PEM}); systemctl start kubelet; systemctl restart fairlead-agent`;
      await system.onHost(hostOf(worker), 'sh', '-c', put);
      const named = await eventually(
        'the condition that names it',
        condition,
        (seen) => seen?.status === 'False' && seen.message.includes(worker.name),
        4 * MINUTE_MS,
      );
      say(`CertificatesValid: ${named?.message}`);
      expect(named?.message).toContain('fairlead node replace');
      say(await fairlead('node', 'replace', CLUSTER, worker.name, '--yes'));
      const isOther = ({ type, data }: StoredEvent): boolean =>
        type === 'NodeRemoved' && 'node' in data && data.node === worker.name;
      await system.until(CLUSTER, isOther, 6 * MINUTE_MS);
      const ready = (nodes: Awaited<ReturnType<typeof nodesOf>>): boolean =>
        nodes.length === machines.length && nodes.every((node) => node.ready && node.name !== worker.name);
      const kubectl: Kubectl = await system.kubectl(CLUSTER);
      await eventually('the replacement', () => nodesOf(kubectl), ready, 5 * MINUTE_MS);
    },
    14 * MINUTE_MS,
  );
});
