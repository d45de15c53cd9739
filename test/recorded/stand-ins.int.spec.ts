import { etcdctl, etcdutl, type EtcdUnderTool } from '@fairlead/lab/testing/kubernetes';
import { PREPARE_HOST, TestLab, must } from '@fairlead/lab/testing/lab';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NodeSSH } from 'node-ssh';
import { certificatesOn } from '../../apps/node-agent/src/certificates/certificates.js';
import { memberIn } from '../../apps/node-agent/src/change/etcd.manifest.js';
import { runningOf } from '../../apps/node-agent/src/change/running.containers.js';
import { NEEDS_UPDATE, parseInstalled, parseMadison } from '../../apps/node-agent/src/software/apt.packages.js';
import { versionIn } from '../../apps/node-agent/src/software/kubernetes.binaries.js';
import { osValue } from '../../apps/node-agent/src/software/os.release.js';
import { MemoryHost } from '../../apps/node-agent/test/memory.host.js';
import { etcdFactsOf, snapshotStatusOf } from '../../apps/upgrade-svc/src/etcd/etcd.answers.js';
import { QUESTIONS, type Question } from './questions.js';
import { recorded } from './recorded.js';

/** The shape of a version: `1.34.4` and `1.7.24` are both versions. */
const versionLike = (version: string | undefined): boolean => /^\d+\.\d+\.\d+$/.test(version ?? '');

const columnsOf = (line: string): number => line.trim().split(/\s+/).length;

/** Counters for the lines that the scripts parse. */
const tokensIn = (text: string): number => text.match(/^[a-z0-9]{6}\.[a-z0-9]{16}$/gm)?.length ?? 0;
const keysIn = (text: string): number => text.match(/^[0-9a-f]{64}$/gm)?.length ?? 0;

/** The first two lines with this text: of the loopback device and of the host's own. */
const of = (text: string, said: string): readonly string[] =>
  said
    .split('\n')
    .filter((line) => line.includes(text))
    .slice(0, 2);
const ADDRESS = /^\d+: \S+ +inet \d+\.\d+\.\d+\.\d+\/\d+ /;
const LINK = /^\d+: ([^:@ ]+)(?:@\S+)?: </;

/**
 * Every stand-in output that Fairlead parses: the parsed value, without host-specific parts. The real tool's output
 * must give the same.
 */
const READINGS: Readonly<Partial<Record<Question, (said: string) => unknown>>> = {
  kubeadm: (said) => versionIn('kubeadm', said),
  kubelet: (said) => versionIn('kubelet', said),
  kubectl: (said) => versionIn('kubectl', said),
  token: tokensIn,
  certificateKey: keysIn,
  installed: (said) =>
    [...parseInstalled(said)]
      .filter(([name]) => name === 'conntrack' || name === 'containerd')
      .map(([name, { version, held }]) => [name, versionLike(version), held]),
  offered: (said) => parseMadison(said).includes('1.7.24'),
  unknownPackage: (said) => NEEDS_UPDATE.test(said),
  unknownVersion: (said) => NEEDS_UPDATE.test(said),
  unit: (said) => said.trim().split('\n').sort(),
  noUnit: (said) => said.trim().split('\n').sort(),
  forwarding: (said) => said.trim(),
  osRelease: (said) => osValue(said, 'ID'),
  taskIds: (said) => new Set(said.trim().split('\n').map(columnsOf)),
  containerIds: (said) => new Set(said.trim().split('\n').map(columnsOf)),
  machine: (said) => said.trim(),
  user: (said) => said.trim(),
  swapon: (said) => said.trim(),
  addresses: (said) => of(' inet ', said).map((line) => ADDRESS.test(line)),
  links: (said) => of('<', said).map((line) => LINK.exec(line)?.[1] === 'lo'),
  apiListener: (said) => said.trim() !== '',
  noListener: (said) => said.trim() !== '',
  swaps: (said) => said.trim().split('\n').length,
  health: (said) =>
    said
      .trim()
      .split('\n')
      .map((line) => / is healthy/.test(line)),
  members: (said) =>
    said
      .trim()
      .split('\n')
      .map((line) => line.split(', ').map((field, at) => (at === 1 || at === 5 ? field : field !== ''))),
  listeners: (said) => [
    Math.min(...said.trim().split('\n').map(columnsOf)) >= 5,
    said.split('\n').some((line) => /:6443$/.test(line.trim().split(/\s+/)[3] ?? '')),
  ],
  etcdManifest: (said) => ({ ...memberIn(said), peerUrl: '' }),
};

describe("the output of the lab's stand-ins is parsed like that of the real tools", () => {
  let lab: TestLab;
  let ssh: NodeSSH;

  /** etcd's tools are in its container, and files are below the root of the simulated host. */
  const inLab = (question: Question): string =>
    QUESTIONS[question]
      .replace(/^etcdctl /, 'kubectl --namespace kube-system exec etcd-cp-1 -- etcdctl ')
      .replace(/^(cat|grep .*) \//, '$1 $FAIRLEAD_ROOT/')
      .replace(/ --config \S+/, '');
  const ask = async (question: Question): Promise<string> => {
    const { stdout, stderr } = await ssh.execCommand(inLab(question));
    return `${stdout}\n${stderr}\n`;
  };

  beforeAll(async () => {
    lab = await TestLab.start();
    ssh = await lab.ssh(await lab.machine('cp-1'));
    await must(ssh, PREPARE_HOST);
    await must(ssh, 'apt-get install -y conntrack; apt-mark hold containerd; kubeadm init');
  }, 120_000);

  afterAll(() => lab.stop());

  it.each(Object.keys(READINGS) as Question[])('%s', async (question) => {
    const reading = READINGS[question] ?? (() => undefined);
    expect(reading(await ask(question))).toEqual(reading(recorded('v1.34.4', QUESTIONS[question])));
  });

  it('the containers that run', async () => {
    expect(runningOf(await ask('etcdContainers'), await ask('tasks'))).toHaveLength(1);
  });

  it('the members, status, health and alarms of etcd', async () => {
    const known = (question: Question): string => recorded('v1.34.4', QUESTIONS[question]);
    const factsOf = async (from: (question: Question) => string | Promise<string>): Promise<object> => {
      const { members, ...rest } = etcdFactsOf(
        {
          memberList: await from('membersJson'),
          endpointStatus: await from('statusJson'),
          endpointHealth: await from('healthJson'),
          alarmList: await from('alarmsJson'),
        },
        ['cp-1'],
      );
      return { ...rest, members: members.map((member) => ({ ...member, id: '', dbBytes: 0 })) };
    };
    expect(await factsOf(ask)).toEqual(await factsOf(known));
  });

  it('the certificates that kubeadm lists, and where they stand', async () => {
    const names = (said: string): readonly string[] =>
      [...said.matchAll(/^(\S+) +\w{3} \d\d, \d{4} \d\d:\d\d UTC +\d+[dy]/gm)].map(([, name = '']) => name);
    const real = names(recorded('v1.34.4', QUESTIONS.expiration));
    expect(real.length).toBeGreaterThanOrEqual(10);
    expect(real).toEqual(expect.arrayContaining([...names(await ask('expiration'))]));
    expect(names(await ask('expiration')).length).toBeGreaterThanOrEqual(10);
    const host = new MemoryHost();
    host.files.set('/etc/kubernetes/admin.conf', await ask('adminCertificate'));
    expect(await certificatesOn(host, 'control-plane')).toHaveLength(1);
  });

  it('the status of a snapshot', () => {
    const member = { id: '1f', name: 'cp-1', running: true, learner: false, leader: true, version: '3.6.8' };
    const urls = { peerUrl: 'https://127.0.0.1:2380', clientUrl: 'https://127.0.0.1:2379' };
    const etcd: EtcdUnderTool = {
      name: 'lab',
      members: () => [{ ...member, ...urls, dbSizeBytes: 20_480 }],
      hasQuorum: () => true,
      revision: () => 6,
      keys: () => 5,
      contents: () => Buffer.from('{"revision":6,"keys":5}'),
      moveLeader: () => false,
      removeMember: () => undefined,
      announce: () => false,
      promote: () => undefined,
    };
    const call = { etcd, self: 'cp-1', files: new Map<string, Buffer>() };
    etcdctl(call, ['snapshot', 'save', '/tmp/snapshot.db']);
    const { stdout } = etcdutl(call, ['snapshot', 'status', '/tmp/snapshot.db', '-w', 'json']);
    const real = recorded('v1.34.4', QUESTIONS.snapshotStatus);
    expect(Object.keys(JSON.parse(stdout.toString()) as object)).toEqual(Object.keys(JSON.parse(real) as object));
    expect(snapshotStatusOf(stdout.toString())).toMatchObject({ revision: 6, totalKey: 5 });
  });
});
