import { SERVICES, ExternalFailure, type SecretRef, type ServiceName } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { NatsSecrets } from './secrets.nats.js';

const MASTER = randomBytes(32);

let environment: TestEnvironment;
let connections: Readonly<Record<ServiceName, NatsConnection>>;

beforeAll(async () => {
  environment = await testEnvironment();
  await ensureStreams(await environment.connect('admin'));
  const each = await Promise.all(SERVICES.map(async (name) => [name, await environment.connect(name)] as const));
  connections = Object.fromEntries(each) as typeof connections;
}, 60_000);

afterAll(async () => {
  await environment?.stop();
});

const secretsOf = (service: ServiceName): NatsSecrets => new NatsSecrets(connections[service], service, MASTER);

/** Every kind of secret, its owner, and the services that need it. */
const KINDS: readonly (readonly [ref: string, owner: string, readers: readonly ServiceName[]])[] = [
  ['gateway.connection.lab', 'shared', ['gateway', 'infra-svc', 'bootstrap-svc']],
  ['gateway.connection.lab.jump', 'shared', ['gateway', 'infra-svc', 'bootstrap-svc']],
  ['gateway.hook.team-a.inventory', 'hooks', ['gateway', 'bootstrap-svc', 'upgrade-svc']],
  ['gateway.addon.team-a.registry', 'addons', ['gateway', 'bootstrap-svc']],
  ['gateway.application.grafana', 'applications', ['gateway', 'infra-svc', 'bootstrap-svc']],
  ['infra-svc.ssh-key.lab', 'shared', ['infra-svc', 'bootstrap-svc']],
  ['bootstrap-svc.kubeconfig.u1', 'u1', ['gateway', 'bootstrap-svc', 'upgrade-svc']],
  ['bootstrap-svc.etcd-ca.u1', 'u1', ['bootstrap-svc']],
  ['bootstrap-svc.join.u1', 'u1', ['bootstrap-svc']],
  ['upgrade-svc.snapshot.u1-s1', 'u1', ['bootstrap-svc', 'upgrade-svc']],
];

describe.each(KINDS)('the secret %s', (name, owner, readers) => {
  const ref = name as SecretRef;
  const writer = name.split('.')[0] as ServiceName;

  beforeAll(() => secretsOf(writer).put(ref, `value of ${name}`, owner));

  it.each(SERVICES)('is readable with the credential of %s only if that service needs it', async (service) => {
    const read = secretsOf(service).get(ref);
    if (readers.includes(service)) expect(await read).toBe(`value of ${name}`);
    else await expect(read).rejects.toThrow(/permission/i);
  });

  it.each(SERVICES.filter((service) => service !== writer))('is not written or purged by %s', async (service) => {
    for (const [bucket, target] of [
      ['SECRETS', name],
      ['SECRET_KEYS', `${writer}.key.${owner}`],
    ] as const) {
      const kv = await new Kvm(connections[service]).open(bucket);
      await expect(kv.put(target, 'mine')).rejects.toThrow(/permission/i);
      await expect(kv.purge(target)).rejects.toThrow(/permission/i);
    }
    expect(await secretsOf(writer).get(ref)).toBe(`value of ${name}`);
  });
});

describe('an unusable secret', () => {
  it('is reported with operation, secret and error if the credential lacks the right', async () => {
    const failure = await secretsOf('gateway')
      .get('infra-svc.ssh-key.lab' as SecretRef)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ExternalFailure);
    expect(failure).toMatchObject({
      operation: 'read the secret',
      target: 'infra-svc.ssh-key.lab',
      message: expect.stringMatching(/permissions violation/i),
      reason: 'system.permission-missing',
    });
    await expect(
      secretsOf('gateway').put('infra-svc.ssh-key.lab' as SecretRef, 'mine', 'shared'),
    ).rejects.toMatchObject({
      operation: 'write the secret',
      reason: 'system.permission-missing',
    });
  });

  it('is reported if the bucket has another master key or another value [ORBITER 28]', async () => {
    const ref = 'gateway.connection.changed' as SecretRef;
    await secretsOf('gateway').put(ref, 'value', 'shared');
    const stranger = new NatsSecrets(connections.gateway, 'gateway', randomBytes(32));
    await expect(stranger.get(ref)).rejects.toMatchObject({
      operation: 'open the secret',
      target: 'gateway.key.shared',
      reason: 'system.secret-unreadable',
    });
    const kv = await new Kvm(connections.gateway).open('SECRETS');
    await kv.put(ref, JSON.stringify({ owner: 'shared', value: Buffer.alloc(64).toString('base64') }));
    await expect(secretsOf('gateway').get(ref)).rejects.toMatchObject({
      operation: 'open the secret',
      target: ref,
      message: expect.stringContaining('it was changed'),
      reason: 'system.secret-unreadable',
    });
  });
});

describe('a lagging replica of the buckets', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** The first reads of each name are answered by a replica that does not have it yet. */
  const behind = (reads: number): void => {
    const open = Kvm.prototype.open;
    jest.spyOn(Kvm.prototype, 'open').mockImplementation(async function (this: Kvm, ...given: Parameters<typeof open>) {
      const bucket = await open.apply(this, given);
      const read = bucket.get.bind(bucket);
      const asked = new Map<string, number>();
      bucket.get = (name) => {
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return (asked.get(name) ?? 0) <= reads ? Promise.resolve(null) : read(name);
      };
      return bucket;
    });
  };

  it('is read again for a secret that another service has just written, and for its key', async () => {
    const ref = 'bootstrap-svc.kubeconfig.just-written' as SecretRef;
    await secretsOf('bootstrap-svc').put(ref, 'value', 'just-written');
    behind(2);
    expect(await secretsOf('gateway').get(ref)).toBe('value');
  });

  it('does not create a key again that it does not have yet', async () => {
    const ref = 'gateway.connection.second' as SecretRef;
    await secretsOf('gateway').put('gateway.connection.first' as SecretRef, 'one', 'shared');
    behind(2);
    await secretsOf('gateway').put(ref, 'two', 'shared');
    expect(await secretsOf('gateway').get('gateway.connection.first' as SecretRef)).toBe('one');
    expect(await secretsOf('gateway').get(ref)).toBe('two');
  });
});

describe('the buckets of secrets and of their keys', () => {
  const ask = (service: ServiceName, subject: string, body: object): Promise<unknown> =>
    connections[service].request(subject, JSON.stringify(body), { timeout: 2_000 });

  it.each(SERVICES)(
    'are not readable by %s by sequence, in batches or through a consumer, nor by watching',
    async (service) => {
      for (const [subject, body] of [
        ['$JS.API.DIRECT.GET.KV_SECRETS', { seq: 1 }],
        ['$JS.API.DIRECT.GET.KV_SECRETS', { multi_last: ['$KV.SECRETS.>'], batch: 100 }],
        ['$JS.API.STREAM.MSG.GET.KV_SECRETS', { last_by_subj: '$KV.SECRETS.bootstrap-svc.etcd-ca.u1' }],
        ['$JS.API.CONSUMER.CREATE.KV_SECRETS.x', { stream_name: 'KV_SECRETS', config: { name: 'x' } }],
        ['$JS.API.STREAM.CREATE.COPY', { name: 'COPY', mirror: { name: 'KV_SECRETS' } }],
        ['$JS.API.STREAM.SNAPSHOT.KV_SECRETS', { deliver_subject: 'evt.x' }],
        ['$JS.API.DIRECT.GET.KV_SECRET_KEYS', { seq: 1 }],
        ['$JS.API.DIRECT.GET.KV_SECRET_KEYS', { multi_last: ['$KV.SECRET_KEYS.>'], batch: 100 }],
        ['$JS.API.STREAM.MSG.GET.KV_SECRET_KEYS', { last_by_subj: '$KV.SECRET_KEYS.bootstrap-svc.key.u1' }],
        ['$JS.API.CONSUMER.CREATE.KV_SECRET_KEYS.x', { stream_name: 'KV_SECRET_KEYS', config: { name: 'x' } }],
        ['$JS.API.STREAM.CREATE.COPY', { name: 'COPY', mirror: { name: 'KV_SECRET_KEYS' } }],
        ['$JS.API.STREAM.SNAPSHOT.KV_SECRET_KEYS', { deliver_subject: 'evt.x' }],
      ] as const)
        await expect(ask(service, subject, body)).rejects.toThrow(/permission/i);
      for (const subject of ['$KV.SECRETS.>', '$KV.SECRET_KEYS.>']) {
        const subscription = connections[service].subscribe(subject, { max: 1 });
        const listening = (async () => {
          for await (const message of subscription) return message.subject;
          return undefined;
        })();
        await expect(listening).rejects.toThrow(/permission/i);
      }
    },
  );
});
