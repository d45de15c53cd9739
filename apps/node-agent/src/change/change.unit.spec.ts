import type { KubernetesVersion } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { BALANCED, change, desired, ModelHost, OWN, reported } from './change.fixtures.js';
import { AgentStops } from './change.ports.js';
import { began, failed, nextStep, phasesOf, recordFor, succeeded } from './change.decider.js';
import { serverIn, withServer } from './kubelet.server.js';

const nothing = (): Promise<void> => Promise.resolve();
const RENEWED = 'kubeadm certs renew all --config /etc/kubernetes/fairlead-kubeadm.yaml';

describe('the phases of a change', () => {
  it('are the requested ones, in a fixed order', () => {
    expect(phasesOf(change())).toEqual(['stage', 'kubeadm', 'kubelet', 'runtime', 'certificates', 'reboot']);
    expect(phasesOf(change({ kubeadm: null, kubernetes: null, reboot: false }))).toEqual(['runtime', 'certificates']);
  });

  it('run one after the other, and only once', () => {
    const record = recordFor(undefined, 'c', 2);
    const staged = succeeded(began(record, 'stage', 'b'), 'stage');
    expect(nextStep(change(), record, { id: 'b' })).toEqual({ do: 'run', phase: 'stage', attempt: 1 });
    expect(nextStep(change(), staged, { id: 'b' })).toEqual({ do: 'run', phase: 'kubeadm', attempt: 1 });
    expect(nextStep(change(), began(staged, 'kubeadm', 'b'), { id: 'b' })).toEqual({
      do: 'run',
      phase: 'kubeadm',
      attempt: 2,
    });
  });

  it('stop after three attempts, until requested again [Cluster API 28]', () => {
    let record = recordFor(undefined, 'c', 2);
    for (let attempt = 1; attempt <= 3; attempt += 1) record = failed(began(record, 'stage', 'b'), 'stage', 'no space');
    expect(nextStep(change(), record, { id: 'b' })).toMatchObject({
      do: 'stop',
      phase: 'stage',
      reason: 'stage failed 3 times: no space',
      isInterrupted: false,
    });
    expect(nextStep(change(), recordFor(record, 'c', 3), { id: 'b' })).toMatchObject({ do: 'run', attempt: 1 });
    expect(nextStep(change(), recordFor(record, 'other', 3), { id: 'b' })).toMatchObject({ do: 'run', attempt: 1 });
  });

  it('stop after a third attempt that was interrupted, with an unknown result', () => {
    let record = recordFor(undefined, 'c', 2);
    for (let attempt = 1; attempt <= 3; attempt += 1) record = began(record, 'kubeadm', 'b');
    const stage = { ...record, phases: { ...record.phases, stage: { status: 'done' as const, attempts: 1 } } };
    expect(nextStep(change(), stage, { id: 'b' })).toMatchObject({ do: 'stop', attempt: 3, isInterrupted: true });
  });

  it('remain done when requested again', () => {
    const record = failed(began(succeeded(recordFor(undefined, 'c', 2), 'stage'), 'kubeadm', 'b'), 'kubeadm', 'no');
    expect(nextStep(change(), recordFor(record, 'c', 3), { id: 'b' })).toMatchObject({ do: 'run', phase: 'kubeadm' });
  });

  it('end with a boot, which is detected by its ID and not requested again', () => {
    const only = change({ kubeadm: null, kubernetes: null, renewCertificates: false });
    const ordered = began(succeeded(recordFor(undefined, 'c', 2), 'runtime'), 'reboot', 'boot-1');
    expect(nextStep(only, ordered, { id: 'boot-1' })).toMatchObject({ do: 'run', phase: 'reboot' });
    expect(nextStep(only, ordered, { id: 'boot-2' })).toMatchObject({ do: 'confirm', phase: 'reboot' });
    expect(nextStep(only, succeeded(ordered, 'reboot'), { id: 'boot-2' })).toEqual({ do: 'finish' });
  });
});

describe('a change of a control plane', () => {
  it('is reported phase by phase, and leaves no files behind', async () => {
    const host = new ModelHost();
    void host.changes().ensure(desired(), host.bootId, nothing);
    await host.off;
    host.powerOn();
    expect(await host.changes().ensure(desired(), host.bootId, nothing)).toBeUndefined();
    expect(reported(host.facts)).toEqual([
      ...['stage', 'kubeadm', 'kubelet', 'runtime', 'certificates'].flatMap((phase) => [
        `${phase} started 1`,
        `${phase} done 1`,
      ]),
      'reboot started 1',
      'reboot done 1',
    ]);
    expect([host.server, host.manifests.length, host.files.has('/etc/kubernetes/super-admin.conf')]).toEqual([
      OWN,
      4,
      false,
    ]);
    expect(await host.changes().inspect(desired())).toEqual([]);
  });

  it('switches the kubelet to the balanced address for kubeadm, and back when the kubelet is replaced', async () => {
    const host = new ModelHost();
    await host
      .changes()
      .ensure(desired({ change: change({ reboot: false, renewCertificates: false }) }), host.bootId, nothing);
    expect(host.commands.filter((line) => !line.startsWith('ctr '))).toEqual([
      'stage',
      `install kubeadm [${OWN}]`,
      'systemctl restart kubelet',
      `kubeadm upgrade apply v1.34.4 --yes --ignore-preflight-errors=CreateJob [${BALANCED}]`,
      `install kubelet kubectl [${OWN}]`,
      'systemctl daemon-reload',
      'systemctl restart kubelet',
    ]);
    expect(host.server).toBe(OWN);
  });

  it('passes ignored preflight errors to every upgrade, because kubeadm does not remember them', async () => {
    const kubeadmOf = async (kubeadm: 'apply' | 'node'): Promise<string | undefined> => {
      const host = new ModelHost();
      host.profile = { ignorePreflightErrors: ['SystemVerification'], imagePullPolicy: 'Never' };
      const target = change({ kubeadm, reboot: false, renewCertificates: false });
      await host.changes().ensure(desired({ change: target }), host.bootId, nothing);
      return host.commands.find((line) => line.startsWith('kubeadm upgrade'));
    };
    expect(await kubeadmOf('apply')).toContain('--ignore-preflight-errors=CreateJob,SystemVerification,ImagePull');
    expect(await kubeadmOf('node')).toContain('upgrade node --ignore-preflight-errors=SystemVerification,ImagePull');
  });

  it('stops its API server gracefully before etcd (C3)', async () => {
    const host = new ModelHost();
    const change3 = change({ stopApiServerFirst: true, reboot: false, renewCertificates: false });
    await host.changes().ensure(desired({ change: change3 }), host.bootId, nothing);
    expect(host.manifestsAtSleep[1]).toEqual(['etcd', 'kube-controller-manager', 'kube-scheduler']);
    expect(host.manifests.length).toBe(4);
    // Programs are never killed by name, because the machine may have others of that name.
    expect(host.commands.filter((line) => /kill/.test(line))).toEqual([]);
  });

  it('renews certificates without an API server that serves while etcd is down (C3)', async () => {
    const host = new ModelHost();
    const only = change({ kubeadm: null, kubernetes: null, reboot: false });
    expect(await host.changes().ensure(desired({ change: only }), host.bootId, nothing)).toBeUndefined();
    const withoutEtcd = host.manifestsAfterRename.filter((names) => !names.includes('etcd'));
    expect(withoutEtcd.length).toBeGreaterThan(0);
    expect(withoutEtcd.filter((names) => names.includes('kube-apiserver'))).toEqual([]);
    expect(host.manifests.length).toBe(4);
  });

  it('lets a started kubelet settle before a manifest is removed, because it would keep that pod for two minutes', async () => {
    const patch = new ModelHost().asByKubeadm;
    patch.versions.set('kubelet', '1.34.1');
    for (const host of [new ModelHost(), patch]) {
      const target = change({ stopApiServerFirst: true, reboot: false, renewCertificates: false });
      await host.changes().ensure(desired({ change: target }), host.bootId, nothing);
      expect(host.manifestsAtSleep.length).toBeGreaterThan(0);
      expect(host.manifestsAtSleep[0]).toHaveLength(4);
    }
  });

  it('replaces static pods before kubeadm, with the API server down while etcd is and up before its clients', async () => {
    const host = new ModelHost().asByKubeadm;
    await host
      .changes()
      .ensure(desired({ change: change({ reboot: false, renewCertificates: false }) }), host.bootId, nothing);
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
      expect(host.files.get(`/etc/kubernetes/manifests/${name}.yaml`)).toContain(`image: ${name}:v1.34.4`);
    expect(host.starts).toEqual(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']);
    const upgraded = host.commands.findIndex((line) => line.startsWith('kubeadm upgrade apply'));
    expect(host.commands.slice(0, upgraded)).toContain(RENEWED);
    expect(
      [...host.files.keys()].filter((path) => /manifests\/[\w-]+\.yaml\.|fairlead-[\w-]+\.yaml$/.test(path)),
    ).toEqual(['/etc/kubernetes/fairlead-kubeadm.yaml']);
    const before = host.commands.length;
    await host
      .changes()
      .ensure(
        desired({ change: change({ id: 'u-2/op-1', reboot: false, renewCertificates: false }) }),
        host.bootId,
        nothing,
      );
    expect(host.commands.slice(before)).not.toContain(RENEWED);
  });

  it('renews certificates after the API server has stopped, and starts no new pod before that', async () => {
    const host = new ModelHost().asByKubeadm;
    host.failing.set(RENEWED, 'no space left on device');
    const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect((await host.changes().ensure(step, host.bootId, nothing))?.message).toContain('no space left on device');
    expect(host.starts).toEqual([]);
    const renewed = host.commands.indexOf(RENEWED);
    const looksAt = (name: string): readonly number[] =>
      host.commands.flatMap((line, at) => (line.startsWith('ctr ') && line.includes(`"==${name}`) ? [at] : []));
    expect(renewed).toBeGreaterThan(looksAt('kube-apiserver').at(-1)!);
    expect(renewed).toBeLessThan(looksAt('etcd')[0]!);
    host.failing.clear();
    expect(await host.changes().ensure(step, host.bootId, nothing)).toBeUndefined();
    expect(host.starts).toEqual(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']);
  });

  it('queries containerd about a responding static pod only when it is time to stop or kill it', async () => {
    const host = new ModelHost().asByKubeadm;
    host.unstopped.add('kube-apiserver');
    const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect(await host.changes().ensure(step, host.bootId, nothing)).toBeUndefined();
    const asked = host.commands.filter((line) => line.startsWith('ctr ') && line.includes('"==kube-apiserver'));
    expect(asked).toHaveLength(2);
  });

  it('replaces a kubelet of another minor version while its static pods are down, so that they start once', async () => {
    const host = new ModelHost().asByKubeadm;
    const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect(await host.changes().ensure(step, host.bootId, nothing)).toBeUndefined();
    expect(host.kubelets).toEqual([`1.34.4 at ${OWN}, 0 static pods`]);
    const came = host.manifestsAfterRename.map((names) => names.length);
    expect(came.filter((count, index) => count === 4 && came[index - 1] === 3)).toHaveLength(1);
    const commands = host.commands.filter((line) => /^kubeadm (upgrade|certs)|^install kubelet/.test(line));
    expect(commands.map((line) => line.replace(/ \[.*/, ''))).toEqual([
      'kubeadm upgrade node phase kubelet-config',
      'kubeadm upgrade node phase post-upgrade',
      RENEWED,
      'install kubelet kubectl',
      'kubeadm upgrade apply v1.34.4 --yes --ignore-preflight-errors=CreateJob',
    ]);
  });

  it('keeps a replaced kubelet at its own API server, even if kubeadm has to be retried [ADR 82]', async () => {
    const host = new ModelHost().asByKubeadm;
    host.failing.set('kubeadm upgrade apply', 'etcdserver: request timed out');
    const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect((await host.changes().ensure(step, host.bootId, nothing))?.message).toContain('request timed out');
    host.failing.clear();
    expect(await host.changes().ensure(step, host.bootId, nothing)).toBeUndefined();
    expect(host.kubelets.length).toBeGreaterThan(0);
    for (const kubelet of host.kubelets) expect(kubelet).toContain(` at ${OWN}`);
  });

  it('restarts that kubelet if kubeadm has changed its settings since', async () => {
    const host = new ModelHost().asByKubeadm;
    host.writing.set('kubeadm upgrade apply', ['/var/lib/kubelet/config.yaml', 'maxPods: 110']);
    const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect(await host.changes().ensure(step, host.bootId, nothing)).toBeUndefined();
    expect(host.kubelets).toEqual([`1.34.4 at ${OWN}, 0 static pods`, `1.34.4 at ${OWN}, 4 static pods`]);
  });

  it('continues with the new version after the new kubelet could not be installed with the static pods down', async () => {
    const host = new ModelHost().asByKubeadm;
    host.failing.set('systemctl daemon-reload', 'no space left on device');
    const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
    const failure = await host.changes().ensure(step, host.bootId, nothing);
    expect(failure?.message).toContain('no space left on device');
    expect(host.starts).toEqual(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']);
    host.failing.clear();
    expect(await host.changes().ensure(step, host.bootId, nothing)).toBeUndefined();
    // Which kubelet ran is unknown, so the static pods were stopped once more.
    expect(host.kubelets.at(-1)).toBe(`1.34.4 at ${OWN}, 0 static pods`);
    expect(host.kubelets.filter((one) => one.startsWith(`1.34.4 at ${BALANCED}`))).toEqual([]);
    expect(host.manifests).toHaveLength(4);
  });

  it('restores the previous API server if the new one does not respond, but not under a newer kubelet (A)', async () => {
    const failed = async (kubelet: string): Promise<readonly [string | undefined, string]> => {
      const host = new ModelHost().asByKubeadm;
      host.versions.set('kubelet', kubelet);
      host.mute = 'kube-apiserver:v1.34.4';
      const step = desired({ change: change({ reboot: false, renewCertificates: false }) });
      const failure = await host.changes().ensure(step, host.bootId, nothing);
      return [failure?.message, host.files.get('/etc/kubernetes/manifests/kube-apiserver.yaml') ?? ''];
    };
    const [words, manifest] = await failed('1.33.13');
    expect(words).toContain('the one before is kept as /etc/kubernetes/fairlead-kube-apiserver.yaml.old');
    expect(manifest).toContain('v1.34.4');
    const [wordsOfPatch, manifestOfPatch] = await failed('1.34.1');
    expect(wordsOfPatch).toContain('the one before is back');
    expect(manifestOfPatch).not.toContain('v1.34.4');
  });

  it('starts a kubelet of another minor version without static pods, which then start in order; a patch release keeps them running', async () => {
    const host = new ModelHost();
    const step = change({ reboot: false, renewCertificates: false });
    await host.changes().ensure(desired({ change: step }), host.bootId, nothing);
    expect(host.manifestsAtSleep).toContainEqual([]);
    const steps = host.manifestsAfterRename.map((names) => names.join(' '));
    const back = steps.slice(steps.lastIndexOf('')).filter((names, index, all) => names !== all[index - 1]);
    expect(back.slice(0, 3)).toEqual(['', 'etcd', 'etcd kube-apiserver']);
    expect(host.manifests.length).toBe(4);

    const patch = new ModelHost();
    patch.versions.set('kubelet', '1.34.1');
    await patch.changes().ensure(desired({ change: step }), patch.bootId, nothing);
    expect(patch.manifestsAtSleep).not.toContainEqual([]);

    const failing = new ModelHost();
    failing.failing.set('systemctl daemon-reload', 'no space left on device');
    await failing.changes().ensure(desired({ change: step }), failing.bootId, nothing);
    expect(failing.manifests.length).toBe(4);
  });

  it('makes an etcd 3.5 member that never wrote a snapshot write one before 3.6 reads its log', async () => {
    const host = new ModelHost().asByKubeadm.withYoungEtcd;
    const target = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect(await host.changes().ensure(target, host.bootId, nothing)).toBeUndefined();
    expect(host.etcdMinors).toEqual([5, 6]);
    expect(host.files.has('/var/lib/etcd/member/snap/0.snap')).toBe(true);
    expect(host.files.get('/etc/kubernetes/manifests/etcd.yaml')).toContain('--snapshot-count=10000');
    // The API server is down while its etcd is.
    const withoutEtcd = host.manifestsAfterRename.filter((names) => !names.includes('etcd'));
    expect(withoutEtcd.filter((names) => names.includes('kube-apiserver'))).toEqual([]);

    const old = new ModelHost().asByKubeadm.withYoungEtcd;
    old.files.set('/var/lib/etcd/member/snap/1.snap', 'members');
    await old.changes().ensure(target, old.bootId, nothing);
    expect(old.etcdMinors).toEqual([6]);
  });

  it('stops a static pod itself if the kubelet, busy with its volumes, has not', async () => {
    const host = new ModelHost().asByKubeadm;
    host.unstopped.add('kube-scheduler').add('kube-apiserver');
    const target = desired({ change: change({ reboot: false, renewCertificates: false }) });
    expect(await host.changes().ensure(target, host.bootId, nothing)).toBeUndefined();
    expect(host.commands.filter((line) => line.includes('tasks kill')).sort()).toEqual([
      'ctr -n k8s.io tasks kill --signal SIGTERM kube-apiserver',
      'ctr -n k8s.io tasks kill --signal SIGTERM kube-scheduler',
    ]);
  });

  it('lets new binaries emulate the previous version until a change without emulation (G5)', async () => {
    const host = new ModelHost().asByKubeadm;
    const flagsOf = (): readonly (string | undefined)[] =>
      ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map(
        (name) => /flag: (\S+)/.exec(host.files.get(`/etc/kubernetes/manifests/${name}.yaml`) ?? '')?.[1],
      );
    const upgraded = async (id: string, emulatedVersion: string | null): Promise<string | undefined> => {
      const step = change({ id, emulatedVersion, reboot: false, renewCertificates: false });
      expect(await host.changes().ensure(desired({ change: step }), host.bootId, nothing)).toBeUndefined();
      return host.commands.findLast((line) => line.startsWith('kubeadm upgrade'));
    };
    expect(await upgraded('u-2/op-1', '1.33')).toContain('--patches=/etc/kubernetes/fairlead-patches');
    const flag = '--emulated-version=1.33';
    expect(flagsOf()).toEqual([undefined, flag, flag, flag]);
    expect(await upgraded('u-2/op-2', null)).not.toContain('--patches');
    expect(flagsOf()).toEqual([undefined, undefined, undefined, undefined]);
    // The second step does not change etcd.
    expect(host.starts.filter((name) => name === 'etcd')).toHaveLength(1);
  });

  it('keeps node-specific settings: kubeadm receives the patch of the join at every upgrade', async () => {
    const patch = '/etc/fairlead/kubeadm-patches/kubeletconfiguration0+merge.yaml';
    const upgraded = async (emulatedVersion: string | null): Promise<ModelHost> => {
      const host = new ModelHost().asByKubeadm;
      host.files.set(patch, 'failSwapOn: false\n');
      const step = change({ id: 'u-2/op-1', emulatedVersion, reboot: false, renewCertificates: false });
      expect(await host.changes().ensure(desired({ change: step }), host.bootId, nothing)).toBeUndefined();
      return host;
    };
    const plain = await upgraded(null);
    expect(plain.commands.findLast((line) => line.startsWith('kubeadm upgrade'))).toContain(
      '--patches=/etc/fairlead/kubeadm-patches',
    );
    const emulating = await upgraded('1.33');
    expect(emulating.files.get('/etc/kubernetes/fairlead-patches/kubeletconfiguration0+merge.yaml')).toBe(
      'failSwapOn: false\n',
    );
  });

  it("leaves static pods to kubeadm if their manifests are not kubeadm's, or no other API server is available", async () => {
    const single = new ModelHost().asByKubeadm;
    const alone = change({ balancedEndpoint: null, reboot: false, renewCertificates: false });
    await single.changes().ensure(desired({ change: alone }), single.bootId, nothing);
    expect(single.starts).toEqual([]);
    const foreign = new ModelHost();
    await foreign
      .changes()
      .ensure(desired({ change: change({ reboot: false, renewCertificates: false }) }), foreign.bootId, nothing);
    expect(foreign.starts).toEqual([]);
  });

  it('reports why it failed, keeps completed phases, and stops after three attempts [Cluster API 28]', async () => {
    const host = new ModelHost();
    host.failing.set('kubeadm upgrade', 'etcdserver: no leader');
    for (let attempt = 1; attempt <= 3; attempt += 1)
      expect(await host.changes().ensure(desired(), host.bootId, nothing)).toMatchObject({
        item: 'change',
        message: 'exit code 1: etcdserver: no leader',
      });
    const ran = host.commands.length;
    expect((await host.changes().ensure(desired(), host.bootId, nothing))?.message).toBe(
      'kubeadm failed 3 times: exit code 1: etcdserver: no leader',
    );
    expect(host.commands.length).toBe(ran);
    expect(reported(host.facts).filter((line) => line.startsWith('stage'))).toEqual([
      'stage started 1',
      'stage done 1',
    ]);
    host.failing.clear();
    const again = desired({ revision: 3, change: change({ reboot: false }) });
    expect(await host.changes().ensure(again, host.bootId, nothing)).toBeUndefined();
    expect(host.server).toBe(OWN);
  });

  it('has not failed when the agent is stopped: the next agent continues', async () => {
    const host = new ModelHost();
    const only = change({ kubeadm: null, kubernetes: null, reboot: false });
    const stops = host.changes({ sleep: () => Promise.reject(new AgentStops()), answers: true });
    await expect(stops.ensure(desired({ change: only }), host.bootId, nothing)).rejects.toThrow('the agent stops');
    expect(reported(host.facts).filter((line) => line.includes('failed'))).toEqual([]);
    expect(host.manifests.length).toBe(3);
    expect(await host.changes().ensure(desired({ change: only }), host.bootId, nothing)).toBeUndefined();
    expect(host.manifests.length).toBe(4);
  });

  it('is done once, however often it is requested', async () => {
    const host = new ModelHost();
    const target = desired({ change: change({ reboot: false }) });
    await host.changes().ensure(target, host.bootId, nothing);
    const ran = host.commands.length;
    await host.changes().ensure({ ...target, revision: 9 }, host.bootId, nothing);
    expect(host.commands.length).toBe(ran);
    expect(await host.changes().inspect({ ...target, revision: 9 })).toEqual([]);
  });
});

describe('staging ahead', () => {
  it('needs no permission, is reported once, and is repeated only for another request', async () => {
    const host = new ModelHost();
    const stage = { id: 'u-0123456789/op-01', software: { kubelet: '1.34.4' } };
    const target = desired({ change: undefined, changesAllowed: false, stage });
    await host.changes().stageAhead(target);
    await host.changes().stageAhead({ ...target, revision: 3 });
    expect([host.commands, reported(host.facts)]).toEqual([['stage'], ['stage done 1']]);
    await host.changes().stageAhead({ ...target, stage: { ...stage, id: 'another' } });
    expect(host.commands).toEqual(['stage', 'stage']);
  });

  describe('with a dry run of kubeadm', () => {
    const dryRun = { kubernetes: 'v1.35.4' as KubernetesVersion, ignoredPreflightErrors: ['CoreDNSMigration'] };
    const stage = { id: 'u-0123456789/dry-run', software: { kubeadm: '1.35.4' }, dryRun };
    const target = desired({ change: undefined, changesAllowed: false, stage });
    const KUBEADM = 'env KUBEADM_UPGRADE_DRYRUN_DIR=/var/lib/fairlead/kubeadm-dry-run /unpacked/kubeadm-1.35.4';
    const ends = (host: ModelHost) =>
      host.facts.flatMap((fact) =>
        fact.type === 'NodeChangeProgressed' ? [[fact.data.phase, fact.data.status, fact.data.message]] : [],
      );

    it("runs the plan and a dry run of the target's kubeadm once, and installs nothing", async () => {
      const host = new ModelHost();
      const files = new Map(host.files);
      await host.changes().stageAhead(target);
      await host.changes().stageAhead({ ...target, revision: 3 });
      expect(host.commands).toEqual([
        'stage',
        `${KUBEADM} upgrade plan v1.35.4 --ignore-preflight-errors=CreateJob,CoreDNSMigration`,
        `${KUBEADM} upgrade apply v1.35.4 --yes --ignore-preflight-errors=CreateJob,CoreDNSMigration --dry-run`,
      ]);
      expect(ends(host)).toEqual([['kubeadm', 'done', null]]);
      expect([...host.files].filter(([path, text]) => files.get(path) !== text).map(([path]) => path)).toEqual([
        '/var/lib/fairlead/change.json',
      ]);
      expect(host.versions.get('kubeadm')).toBeUndefined();
    });

    it("reports a refusal with kubeadm's message, and does not repeat it", async () => {
      const host = new ModelHost();
      host.failing.set(`${KUBEADM} upgrade plan`, '[ERROR CoreDNSUnsupportedPlugins]: not known');
      expect(await host.changes().stageAhead(target)).toBeUndefined();
      expect(await host.changes().stageAhead(target)).toBeUndefined();
      expect(ends(host)).toEqual([['kubeadm', 'failed', '[ERROR CoreDNSUnsupportedPlugins]: not known']]);
    });
  });
});

it('replaces only the address in a kubeconfig', () => {
  const text =
    'apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: QQ==\n    server: https://a:6443\n  name: x\n';
  expect(serverIn(text)).toBe('https://a:6443');
  expect(withServer(text, 'https://b:1')).toBe(text.replace('https://a:6443', 'https://b:1'));
  expect(serverIn('kind: Config\n')).toBeUndefined();
});
