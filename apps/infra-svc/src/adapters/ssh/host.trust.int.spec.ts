import { HOST_KEY_CHANGED, type ClusterUid, type Fact, type Namespace, type NodeName } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { MachineAnswer, MachineGroup } from '../../providers/provider.ports.js';
import { SITE } from '../../stock/stock.fixtures.js';
import { Rack } from './rack.fixtures.js';

type Settings = Record<string, unknown>;

describe('trust in your own hosts', () => {
  let rack: Rack;
  const signal = (): AbortSignal => AbortSignal.timeout(30_000);

  const groupOf = (count: number, namespace = 'default', cluster = 'demo'): MachineGroup => ({
    name: `${namespace}.${cluster}.site`,
    namespace: namespace as Namespace,
    cluster,
    uid: randomUUID() as ClusterUid,
    image: 'as-installed',
    network: 'n',
    firewall: 'f',
    sshKey: 'k',
    machines: Array.from({ length: count }, (_, at) => ({
      name: `${cluster}-w-${at + 1}-aaaaa` as NodeName,
      spec: 'ssh.any',
      zone: undefined,
      rootDisk: { type: 'default', size: 'default' },
      labels: {},
    })),
  });

  const make = async (group: MachineGroup, settings: Settings = {}): Promise<readonly MachineAnswer[]> => {
    const answers: MachineAnswer[] = [];
    for await (const answer of rack.open(settings).ensureMachines(group, signal())) answers.push(answer);
    return answers;
  };

  const problemsOf = async (settings: Settings = {}): Promise<readonly string[]> =>
    ((await rack.open(settings).verify(signal())).hosts ?? []).map(({ problem }) => problem);

  beforeEach(async () => {
    rack = await Rack.start(3, 73);
  });

  afterEach(() => rack.stop());

  describe('by SSH host key', () => {
    /** An inventory without host keys. */
    const unnamed = (): Settings => ({ hosts: rack.inventory().map(({ hostKey: _key, ...host }) => host) });
    const pins = () =>
      rack.log.events.flatMap(({ type, data }) => (type === 'HostKeyPinned' ? [[data.host, data.hostKey]] : []));
    const accepted = (host: string | null, address: string, hostKey: string): Fact<'HostKeyAccepted'> => ({
      type: 'HostKeyAccepted',
      data: { name: SITE, host: host as NodeName | null, address, hostKey },
    });

    it('pins the first key that each host presents, once, in the log', async () => {
      expect(await problemsOf(unnamed())).toEqual(['', '', '']);
      expect(await problemsOf(unnamed())).toEqual(['', '', '']);
      expect(pins().sort()).toEqual(rack.hosts.map((host, at) => [`rack-${at + 1}`, host.fingerprint]));
      const [machine] = await make(groupOf(1), unnamed());
      expect(machine).toMatchObject({ ssh: { hostKey: rack.hosts[0]!.fingerprint } });
    });

    it('refuses a man in the middle with another key, which receives no step and no cluster', async () => {
      await problemsOf(unnamed());
      const pinned = rack.hosts[0]!.fingerprint;
      await rack.hosts[0]!.isReplaced();
      const [problem] = await problemsOf(unnamed());
      const { hosts } = await rack.open(unnamed()).verify(signal());
      expect(hosts?.[0]?.checks).toEqual({ hostKey: problem });
      expect(problem).toContain(`shows the key ${rack.hosts[0]!.fingerprint}, and ${pinned} is the one that is known`);
      await expect(make(groupOf(3), unnamed())).rejects.toThrow(/has 2 free hosts that fit, but 3 are requested/);
      expect(pins()).toHaveLength(3);
    });

    it('excludes a host that presents another key at its release, for a stable reason', async () => {
      const group = groupOf(1);
      await make(group, unnamed());
      rack.put(0, '/etc/kubernetes/pki/ca.key');
      await rack.hosts[0]!.isReplaced();
      await rack.open(unnamed()).deleteGroup(group, signal());
      const [kept] = (await rack.stock.look(SITE)).withheld;
      expect(kept?.cause).toMatchObject({ operation: 'open SSH', target: 'rack-1', reason: HOST_KEY_CHANGED });
      expect(rack.has(0, '/etc/kubernetes/pki/ca.key')).toBe(true);
    });

    it('accepts only the new key that an administrator accepted', async () => {
      await problemsOf(unnamed());
      await rack.hosts[0]!.isReplaced();
      const { host, port } = rack.hosts[0]!.address;
      await rack.say(accepted('rack-1', `${host}:${port}`, rack.hosts[0]!.fingerprint));
      expect(await problemsOf(unnamed())).toEqual(['', '', '']);
      await rack.hosts[0]!.isReplaced();
      expect((await problemsOf(unnamed()))[0]).toMatch(/shows the key .*, and .* is the one that is known/);
    });

    it('does not trust on first use if the inventory has the key', async () => {
      const named = { hosts: rack.inventory() };
      await rack.hosts[0]!.isReplaced();
      expect((await problemsOf(named))[0]).toMatch(/is the one that is known/);
      expect(pins()).toEqual([]);
      const { host, port } = rack.hosts[0]!.address;
      await rack.say(accepted('rack-1', `${host}:${port}`, rack.hosts[0]!.fingerprint));
      expect((await problemsOf(named))[0]).toMatch(/is the one that is known/);
    });

    it("pins the jump host's key, and refuses another one for every host behind it until it is accepted", async () => {
      const [gate, ...behind] = rack.hosts;
      const { host: address, port } = gate!.address;
      const settings = { hosts: rack.inventory().slice(1), jump: { address, port } };
      expect(await problemsOf(settings)).toEqual(['', '']);
      expect(pins()).toEqual([[null, gate!.fingerprint]]);
      const pinned = gate!.fingerprint;
      await gate!.isReplaced();
      const seen = behind.map((host) => host.connections());
      await expect(rack.open(settings).verify(signal())).rejects.toThrow(
        new RegExp(`the jump host root@${address}:${port}: the host shows the key`),
      );
      expect(behind.map((host) => host.connections())).toEqual(seen);
      expect(gate!.fingerprint).not.toBe(pinned);
      await rack.say(accepted(null, `${address}:${port}`, gate!.fingerprint));
      expect(await problemsOf(settings)).toEqual(['', '']);
    });
  });

  describe('between namespaces', () => {
    const use = async (namespace: string, at = 0): Promise<void> => {
      const group = groupOf(1, namespace, 'used');
      await make(group, { hosts: rack.inventory().slice(at, at + 1) });
      rack.put(at, '/etc/kubernetes/pki/ca.key', 'the authority of a tenant');
      rack.put(at, '/var/lib/containerd/io.containerd.content.v1.content/blobs/sha256/layer', 'an image');
      rack.put(at, '/var/log/pods/default_web/0.log', 'what a pod said');
      rack.put(at, '/var/log/fairlead/kubeadm-join.log', 'a token');
      rack.put(at, '/var/lib/fairlead/steps/kubeadm-join-worker-cut.json', '{"token":"abcdef.0123456789abcdef"}');
      rack.put(at, '/root/.kube/config', 'a kubeconfig');
      rack.put(at, '/usr/bin/kubelet', 'a kubelet that calls home');
      rack.put(at, '/opt/cni/bin/bridge', 'a plugin that does');
      rack.put(at, '/opt/fairlead/node', 'and a runtime');
      await rack.open().deleteGroup(group, signal());
    };
    const only = (at: number, more: Settings = {}): Settings => ({
      hosts: rack.inventory().slice(at, at + 1),
      ...more,
    });

    beforeEach(async () => {
      await rack.namespace('team-a');
      await rack.namespace('team-b');
    });

    it('does not give a host that one namespace used to another, and reports the remedy', async () => {
      await use('team-a');
      const group = groupOf(1, 'team-b');
      await expect(make(group, only(0))).rejects.toMatchObject({
        retryable: false,
        message:
          'Connection site has 0 free hosts for namespace team-b, but 1 are requested: 1 more were last used by another namespace',
      });
      const refusal = await rack
        .open(only(0))
        .checkCapacity?.({ group, specs: ['ssh.any'], controlPlanes: 0 }, signal());
      expect(refusal?.code).toBe('stock.other-namespace');
      expect(await make(groupOf(1, 'team-a', 'again'), only(0))).toHaveLength(1);
    });

    it('does not give it to a later namespace of the same name', async () => {
      await use('team-a');
      await rack.namespace('team-a', 'NamespaceDeleted');
      await rack.namespace('team-a');
      await expect(make(groupOf(1, 'team-a'), only(0))).rejects.toThrow(/last used by another namespace/);
    });

    it('does not give it under another host name with the same address', async () => {
      await use('team-a');
      const renamed = { hosts: [{ ...rack.inventory()[0], name: 'fresh' }] };
      await expect(make(groupOf(1, 'team-b'), renamed)).rejects.toThrow(/last used by another namespace/);
    });

    it('gives it to any namespace after a wipe, if the connection allows that', async () => {
      await use('team-a');
      expect(await make(groupOf(1, 'team-b'), only(0, { hostReuse: 'any-namespace' }))).toHaveLength(1);
      for (const path of [
        '/etc/kubernetes/pki/ca.key',
        '/var/lib/containerd/io.containerd.content.v1.content',
        '/var/log/pods/default_web',
        '/var/log/fairlead/kubeadm-join.log',
        '/var/lib/fairlead/steps/kubeadm-join-worker-cut.json',
        '/root/.kube/config',
        '/usr/bin/kubelet',
        '/opt/cni/bin/bridge',
        '/opt/fairlead/node',
      ])
        expect([path, rack.has(0, path)]).toEqual([path, false]);
    });

    it.each([
      ['/root/.ssh/authorized_keys', 'the authorized SSH keys are not as when the host was taken'],
      ['/etc/ssh/sshd_config.d/99-a.conf', 'the files of the SSH server are not as when the host was taken'],
      ['/etc/sudoers.d/a', 'the accounts that may log in, or sudoers and PAM are not as when the host was taken'],
      ['/etc/cron.d/a', 'the cron jobs or preloaded libraries are not as when the host was taken'],
      ['/etc/systemd/system/a.service', 'the units of systemd are not as when the host was taken'],
    ])('excludes a host on which a tenant left a backdoor: %s', async (path, words) => {
      const group = groupOf(1, 'team-a');
      await make(group, only(0));
      rack.put(0, path, 'a way back in');
      await rack.open().deleteGroup(group, signal());
      expect((await problemsOf(only(0)).catch((error: Error) => [error.message]))[0]).toContain(words);
      await rack.open().recover?.(signal());
      expect((await rack.stock.look(SITE)).withheld).toHaveLength(1);
      await expect(make(groupOf(1, 'team-a', 'again'), only(0))).rejects.toThrow(/1 kept out/);
    });

    it("checks the agent's runtime if it is the host's own", async () => {
      const settings = only(0, { profile: { nodeBinary: '/opt/fairlead/node' } });
      rack.put(0, '/opt/fairlead/node', 'a runtime');
      const group = groupOf(1, 'team-a');
      await make(group, settings);
      await rack.open(settings).deleteGroup(group, signal());
      expect(rack.has(0, '/opt/fairlead/node')).toBe(true);
      const next = groupOf(1, 'team-a', 'next');
      await make(next, settings);
      rack.put(0, '/opt/fairlead/node', 'another one');
      await rack.open(settings).deleteGroup(next, signal());
      const [kept] = (await rack.stock.look(SITE)).withheld;
      expect(kept?.cause.message).toContain("the agent's runtime files are not as when the host was taken");
    });

    it('releases a host for every namespace after an administrator accepted its reinstallation', async () => {
      const group = groupOf(1, 'team-a');
      await make(group, only(0));
      rack.put(0, '/root/.ssh/authorized_keys', 'a way back in');
      await rack.open().deleteGroup(group, signal());
      const asOf = await rack.say({ type: 'HostAccepted', data: { name: SITE, host: 'rack-1' as NodeName } });
      await rack.open().accept?.('rack-1', asOf);
      expect(rack.recordedTypes().slice(-1)).toEqual(['HostReadmitted']);
      expect(await make(groupOf(1, 'team-b'), only(0))).toHaveLength(1);
    });

    it('does not apply an acceptance to later events', async () => {
      await use('team-a');
      const asOf = await rack.say({ type: 'HostAccepted', data: { name: SITE, host: 'rack-1' as NodeName } });
      const group = groupOf(1, 'team-a', 'again');
      await make(group, only(0));
      await rack.open().accept?.('rack-1', asOf);
      expect((await rack.stock.look(SITE)).held).toHaveLength(1);
      await rack.open().deleteGroup(group, signal());
      await rack.open().accept?.('rack-1', asOf);
      await expect(make(groupOf(1, 'team-b'), only(0))).rejects.toThrow(/last used by another namespace/);
    });
  });
});
