import { NETWORK_PATHS, type NodeFirewall } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { itInNetwork } from '@fairlead/testing/programs';
import { CLIENT, FirewallWorld, SERVER, STRANGER } from '../../test/firewall.world.js';
import { node, uid } from '../agent/agent.fixtures.js';
import { messageOf } from './network.fixtures.js';

const REVISIONS = {
  open: '0000000000000001',
  cut: '0000000000000002',
  other: '0000000000000003',
  api: '0000000000000004',
  back: '0000000000000005',
};
const PORTS = '6443,9999,10250,30080';
/** More than one verification with its pauses, on a slow machine. */
const LIMIT_MS = 120_000;
const INTERRUPTED = [
  {
    part: 'firewall',
    command: 'nft -f',
    message: 'the agent or the host ended before the change was confirmed',
    reverted: true,
  },
];

const nodesOnly: NodeFirewall = {
  sets: { nodes: [SERVER], 'control-planes': [], pods: ['10.244.0.0/16'] },
  inbound: [
    { name: 'kubelet', protocol: 'tcp', ports: ['10250'], peers: ['@nodes', '@pods'] },
    { name: 'kubernetes-api', protocol: 'tcp', ports: ['6443'], peers: ['@nodes', '@pods', '198.18.99.16/29'] },
  ],
  nodePorts: ['@nodes', '@pods'],
};
const natsAllowed: NodeFirewall = {
  ...nodesOnly,
  outbound: [{ name: 'declared-nats', protocol: 'tcp', ports: ['4222'], peers: [SERVER] }],
};
/** Closes the Kubernetes API alone. */
const apiClosed: NodeFirewall = { ...nodesOnly, inbound: nodesOnly.inbound.slice(1), closed: [6443] };
/** Lacks the rule that lets the agent reach NATS. */
const natsCutOff: NodeFirewall = { ...nodesOnly, outbound: [] };
const alsoCutOff: NodeFirewall = { ...natsCutOff, inbound: [] };

describe('the firewall of a host, with the real nft in a network namespace and NATS behind it', () => {
  const test = itInNetwork('nft', 'ip');
  let world: FirewallWorld;
  let seq = 0;

  const ask = (firewall: NodeFirewall | undefined, revision: string, attempt = 1): void => {
    seq += 1;
    world.send(messageOf(firewall === undefined ? {} : { firewall }, { seq, revision, attempt }));
  };
  const applied = (revision: string) => ({ type: 'NodeNetworkApplied', data: { uid, node, revision, attempt: 1 } });
  const ours = (): string => world.on('host', 'nft', 'list', 'table', 'inet', 'fairlead');

  beforeAll(async () => {
    world = new FirewallWorld();
    await world.start({ uid, node });
    world.write(NETWORK_PATHS.sshClients, `${SERVER}\n`);
    for (const port of [6443, 10250, 9999, 30080]) await world.listen(port);
    // Like the table of kube-proxy.
    world.on('host', 'nft', 'add', 'table', 'ip', 'kube-proxy');
    world.startAgent();
  }, LIMIT_MS);

  afterAll(() => world.stop());

  test(
    'accepts nodes on the ports that are open to them and listed networks on the Kubernetes API, and drops all others [ORBITER 26]',
    async () => {
      for (const from of [STRANGER, CLIENT]) expect(world.openPorts(from, PORTS)).toEqual([6443, 9999, 10250, 30080]);
      ask(natsAllowed, REVISIONS.open);
      expect((await world.facts(1))[0]).toEqual(applied(REVISIONS.open));
      expect(world.openPorts(SERVER, PORTS)).toEqual([6443, 10250, 30080]);
      expect(world.openPorts(CLIENT, PORTS)).toEqual([6443]);
      expect(world.openPorts(STRANGER, PORTS)).toEqual([]);
      expect(world.rules()).toContain('table ip kube-proxy');
    },
    LIMIT_MS,
  );

  test(
    'reverts itself if the host can no longer reach NATS, and stays reverted [ORBITER 25]',
    async () => {
      const before = ours();
      ask(natsCutOff, REVISIONS.cut);
      const [, failed] = await world.facts(2);
      expect(failed).toMatchObject({
        type: 'NodeNetworkFailed',
        data: { revision: REVISIONS.cut, failures: [{ part: 'firewall', reverted: true }] },
      });
      expect(JSON.stringify(failed)).toContain(`nats://${SERVER}:4222 cannot be reached from this host`);
      expect(ours()).toBe(before);
      expect(world.exists(NETWORK_PATHS.firewall.trial)).toBe(false);
    },
    LIMIT_MS,
  );

  test(
    'reverts itself if the agent dies in the middle of a change [ORBITER 25]',
    async () => {
      const before = ours();
      world.hurry(10);
      ask(natsCutOff, REVISIONS.cut, 2);
      await eventually(() => Promise.resolve(ours() !== before), { withinMs: LIMIT_MS });
      await world.killAgent();
      await eventually(() => Promise.resolve(ours() === before), { withinMs: LIMIT_MS });
      expect(world.exists(NETWORK_PATHS.firewall.trial)).toBe(false);
      world.startAgent();
      expect((await world.facts(3))[2]?.data).toMatchObject({
        revision: REVISIONS.cut,
        attempt: 2,
        failures: INTERRUPTED,
      });
    },
    LIMIT_MS,
  );

  test(
    'is the confirmed one after a boot in the middle of a change, which is stated as reverted [ORBITER 25]',
    async () => {
      const before = ours();
      world.hurry(1);
      ask(alsoCutOff, REVISIONS.other);
      await eventually(() => Promise.resolve(ours() !== before), { withinMs: LIMIT_MS });
      await world.reboot();
      expect(ours()).toBe(before);
      expect(world.exists(NETWORK_PATHS.firewall.trial)).toBe(true);
      world.startAgent();
      const facts = await eventually(
        async () => {
          const found = await world.facts(4);
          return found.at(-1)?.data['revision'] === REVISIONS.other ? found : undefined;
        },
        { withinMs: LIMIT_MS },
      );
      expect(facts.at(-1)?.data['failures']).toEqual(INTERRUPTED);
      expect(world.exists(NETWORK_PATHS.firewall.trial)).toBe(false);
      expect(ours()).toBe(before);
    },
    LIMIT_MS,
  );

  test(
    'closes the Kubernetes API alone where that is its scope, to all but nodes and listed networks',
    async () => {
      const applied = (): number => world.stated.filter(({ type }) => type === 'NodeNetworkApplied').length;
      const before = applied();
      ask(apiClosed, REVISIONS.api);
      await eventually(() => Promise.resolve(applied() > before), { withinMs: LIMIT_MS });
      for (const from of [SERVER, CLIENT]) expect(world.openPorts(from, PORTS)).toEqual([6443, 9999, 10250, 30080]);
      expect(world.openPorts(STRANGER, PORTS)).toEqual([9999, 10250, 30080]);
      ask(natsAllowed, REVISIONS.back);
      await eventually(() => Promise.resolve(applied() > before + 1), { withinMs: LIMIT_MS });
    },
    LIMIT_MS,
  );

  test(
    'is reloaded after others have changed it, and is removed completely when no longer declared',
    async () => {
      const before = ours();
      const count = world.stated.filter(({ type }) => type === 'NodeNetworkApplied').length;
      world.on('host', 'nft', 'flush', 'chain', 'inet', 'fairlead', 'to_host');
      ask(natsAllowed, REVISIONS.open);
      await eventually(
        () => Promise.resolve(world.stated.filter(({ type }) => type === 'NodeNetworkApplied').length > count),
        { withinMs: LIMIT_MS },
      );
      expect(ours()).toBe(before);
      world.on('host', 'nft', 'add', 'table', 'ip', 'kube-proxy');
      ask(undefined, REVISIONS.other);
      const isGone = (): boolean => !world.exists(NETWORK_PATHS.firewall.confirmed);
      await eventually(() => Promise.resolve(isGone()), { withinMs: LIMIT_MS });
      expect(world.exists(NETWORK_PATHS.firewall.unit)).toBe(false);
      expect(world.rules()).not.toContain('inet fairlead');
      expect(world.openPorts(STRANGER, '9999,10250')).toEqual([9999, 10250]);
      expect(world.rules()).toContain('table ip kube-proxy');
    },
    LIMIT_MS,
  );
});
