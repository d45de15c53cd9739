import { CONNECTIONS_STREAM, type Fact } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import ssh2 from 'ssh2';
import { opensshKeys } from '../adapters/ssh-keys/openssh.keys.js';
import { LAB, registered, requested } from '../../test/fixtures.js';
import { Story } from '../../test/story.js';
import { Coalesced } from './coalesced.effects.js';
import { resources, type ResourceFact } from './resources.decider.js';
import { firewallOf, networkOf } from './resources.planner.js';

const network = (cidr: string): Fact<'NetworkEnsured'> => ({
  type: 'NetworkEnsured',
  data: { connection: LAB, network: 'lab-vpc', subnet: 'lab-subnet', cidr },
});
const spec = (name: string, memoryGiB = 4): Fact<'SpecEnsured'> => ({
  type: 'SpecEnsured',
  data: { connection: LAB, spec: name, cpuCount: 2, memoryGiB },
});
const record = (fact: ResourceFact) => ({ type: 'RecordResource', data: fact }) as const;

describe('resources of a connection', () => {
  const { given } = specification(resources);

  it('are stated once', () => {
    given()
      .when(record(network('192.168.1.0/24')))
      .then(network('192.168.1.0/24'));
    given(network('192.168.1.0/24'))
      .when(record(network('192.168.1.0/24')))
      .thenNothing();
  });

  it('are stated again after a change', () => {
    given(network('192.168.1.0/24'))
      .when(record(network('192.168.2.0/24')))
      .then(network('192.168.2.0/24'));
    given(spec('a'))
      .when(record(spec('a', 8)))
      .then(spec('a', 8));
  });

  it('are stated per machine size', () => {
    given(spec('a'))
      .when(record(spec('b')))
      .then(spec('b'));
    given(spec('a'), spec('b'))
      .when(record(spec('a')))
      .thenNothing();
  });

  it('are verified again after a failure even with the same offer, and always on request', () => {
    const capabilities = { nlb: true, simulated: true };
    const offer = { provider: 'lab', region: 'lab-1', zones: ['a'], specs: [], capabilities };
    const verified: Fact<'ConnectionVerified'> = { type: 'ConnectionVerified', data: { connection: LAB, offer } };
    const cause = { operation: 'verify connection', target: 'lab', message: 'no route' };
    const unverified: Fact<'ConnectionUnverified'> = { type: 'ConnectionUnverified', data: { connection: LAB, cause } };
    const answer = (fact: typeof verified | typeof unverified) => ({ type: 'AnswerVerification', data: fact }) as const;
    given(verified).when(answer(verified)).then(verified);
    given(unverified).when(answer(unverified)).then(unverified);
    given(verified).when(record(verified)).thenNothing();
    given(verified, unverified).when(record(unverified)).thenNothing();
    given(verified, unverified).when(record(verified)).then(verified);
  });
});

describe("the plan of a connection's shared resources", () => {
  const connection = { ...registered().data, registration: 'event-1' };

  it('gives each connection a private /24 derived from its name, or the configured one', () => {
    expect(networkOf(connection).cidr).toMatch(/^192\.168\.\d{1,3}\.0\/24$/);
    expect(networkOf(connection)).toEqual(networkOf({ ...connection, registration: 'event-9' }));
    expect(networkOf({ ...connection, settings: { networkCidr: '10.9.0.0/24' } }).cidr).toBe('10.9.0.0/24');
  });

  it('opens only the ports that Kubernetes needs to the world [ORBITER 6]', () => {
    const { rules } = firewallOf(connection, networkOf(connection));
    const outside = rules.filter(({ source, ports }) => source === '0.0.0.0/0' && ports !== null);
    expect(outside.some(({ ports }) => ports!.from <= 6443 && 6443 <= ports!.to)).toBe(true);
    const closed = [2379, 2380, 3306, 10250, 10257, 10259];
    for (const port of closed)
      expect(outside.some(({ ports }) => ports!.from <= port && port <= ports!.to)).toBe(false);
  });

  it('opens the API to configured networks only, or to everyone by an explicit word', () => {
    const sources = (apiNetworks: unknown, port: number): readonly string[] =>
      firewallOf({ ...connection, settings: { apiNetworks } }, networkOf(connection)).rules.flatMap(
        ({ source, ports }) => (ports?.from === port && ports.to === port ? [source] : []),
      );
    for (const port of [6443, 9998]) {
      expect(sources(['10.9.0.0/24', '10.8.0.1/32'], port)).toEqual(['10.9.0.0/24', '10.8.0.1/32']);
      expect(sources('everyone', port)).toEqual(['0.0.0.0/0']);
      expect(sources(undefined, port)).toEqual(['0.0.0.0/0']);
    }
  });

  it('opens etcd and kubelets to machines of its own network, and kubelets to configured peer networks', () => {
    const network = networkOf(connection);
    const settings = { peerNetworks: ['10.9.0.0/24'] };
    const accepts = (source: string, port: number): boolean =>
      firewallOf({ ...connection, settings }, network).rules.some(
        (rule) => rule.source === source && rule.ports !== null && rule.ports.from <= port && port <= rule.ports.to,
      );
    expect([2379, 2380, 10250, 10259].map((port) => accepts(network.cidr, port))).toEqual([true, true, true, true]);
    expect([2379, 2380, 10250, 10259].map((port) => accepts('10.9.0.0/24', port))).toEqual([false, false, true, false]);
  });
});

describe('the SSH key of a connection', () => {
  it('can be parsed by the SSH client, and its public half derives from the private one', () => {
    const pair = opensshKeys.generate('fairlead@lab');
    expect(pair.privateKey).toMatch(/^-----BEGIN OPENSSH PRIVATE KEY-----/);
    expect(pair.publicKey).toMatch(/^ssh-ed25519 \S+ fairlead@lab$/);
    expect(ssh2.utils.parseKey(pair.privateKey)).not.toBeInstanceOf(Error);
    expect(opensshKeys.read(pair.privateKey, 'fairlead@lab')).toEqual(pair);
  });

  it('can be parsed whatever its bytes are, unlike one of 256 keys of its library', () => {
    for (let draw = 0; draw < 2_000; draw += 1) {
      const pair = opensshKeys.generate('c');
      expect(opensshKeys.read(pair.privateKey, 'c')).toEqual(pair);
    }
  });

  it('is sealed, and never in an event', async () => {
    const story = new Story();
    await story.begin();
    await story.request(requested());
    const sealed = story.secrets.values.get('infra-svc.ssh-key.lab')?.value;
    expect(sealed).toContain('PRIVATE KEY');
    expect(JSON.stringify(story.log.events)).not.toContain('PRIVATE KEY');
  });
});

describe('a connection', () => {
  it('is verified whenever it is registered, and states its offer', async () => {
    const story = new Story();
    await story.begin();
    expect(story.last('ConnectionVerified').offer).toMatchObject({
      provider: 'lab',
      region: 'lab-1',
      zones: ['lab-1a', 'lab-1b', 'lab-1c'],
      capabilities: { nlb: true, simulated: true },
    });
    await story.log.say(CONNECTIONS_STREAM, registered());
    await story.settle();
    expect(story.types().filter((type) => type === 'ConnectionVerified')).toHaveLength(2);
  });

  it('that cannot be used states the reason once', async () => {
    const story = new Story();
    story.outage = 'connect ECONNREFUSED 127.0.0.1:1';
    await story.begin();
    expect(story.types().filter((type) => type === 'ConnectionUnverified')).toHaveLength(1);
    expect(story.last('ConnectionUnverified').cause.message).toBe('connect ECONNREFUSED 127.0.0.1:1');
  });

  it('with an unknown provider or region states that', async () => {
    const unknown = new Story();
    await unknown.begin(registered({ provider: 'mars' }));
    expect(unknown.last('ConnectionUnverified').cause.message).toBe("The provider 'mars' is not supported");
    const elsewhere = new Story();
    await elsewhere.begin(registered({ region: 'lab-9' }));
    expect(elsewhere.last('ConnectionUnverified').cause.message).toBe('The region lab-9 does not exist');
  });
});

describe('a shared result', () => {
  it('is fetched once, and cached', async () => {
    const answers = new Coalesced<{ n: number }>(60_000);
    let asked = 0;
    const ask = async () => ({ n: (asked += 1) });
    const all = await Promise.all([answers.get('k', ask), answers.get('k', ask), answers.get('k', ask)]);
    expect([...all, await answers.get('k', ask)].map(({ n }) => n)).toEqual([1, 1, 1, 1]);
    expect((await answers.get('other', ask)).n).toBe(2);
    expect((await answers.renew('k', ask)).n).toBe(3);
  });

  it('is fetched again after a failure', async () => {
    const answers = new Coalesced<{ n: number }>(60_000);
    await expect(answers.get('k', () => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(await answers.get('k', async () => ({ n: 1 }))).toEqual({ n: 1 });
  });
});
