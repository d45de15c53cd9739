import { describe, expect, it } from '@jest/globals';
import { AGENT_EVENT_TYPES } from './agent.facts.js';
import { agentFactSubject, agentOutputSubject } from './agent.subjects.js';
import { EVENTS, type EventType } from './events/catalogue.js';
import { SERVICES } from './events/definition.js';
import { AGENT_FACTS_RECORDER, nodePermissions, servicePermissions } from './permissions.js';
import { eventSubject } from './subjects.js';

/** Matches like nats-server: `*` is one token, `>` is one or more. */
const allows = (patterns: readonly string[], subject: string): boolean =>
  patterns.some((pattern) => {
    const [want, have] = [pattern.split('.'), subject.split('.')];
    if (want.at(-1) === '>')
      return (
        have.length >= want.length && want.slice(0, -1).every((token, index) => token === '*' || token === have[index])
      );
    return want.length === have.length && want.every((token, index) => token === '*' || token === have[index]);
  });

const contextOf = (type: EventType, service: string): string =>
  EVENTS[type].context.replace('<service>', service).replace(/<\w+>/, 'x1');
const subjectOf = (type: EventType, service: string): string =>
  eventSubject({ namespace: 'default', cluster: 'demo', context: contextOf(type, service) }, type);

describe('the rights of a service', () => {
  it.each(SERVICES)('%s may state only its own facts', (service) => {
    for (const [type, { writer }] of Object.entries(EVENTS)) {
      const subject = subjectOf(type as EventType, service);
      expect([type, allows(servicePermissions(service).publish, subject)]).toEqual([
        type,
        writer === service ||
          writer === 'every-service' ||
          // It records agents' facts after validation.
          (writer === 'node-agent' && service === AGENT_FACTS_RECORDER),
      ]);
    }
  });

  it.each(SERVICES)('%s are small enough for the first line of the client protocol', (service) =>
    // 16 KiB, less a quarter for base64 and about 1,100 bytes for the rest of the credential and the line.
    expect(JSON.stringify(servicePermissions(service)).length).toBeLessThan(8_000),
  );

  it('exclude the jobs, secrets and quarantine of other services', () => {
    const { publish } = servicePermissions('infra-svc');
    for (const subject of [
      'job.bootstrap-svc.InitControlPlane',
      '$KV.SECRETS.bootstrap-svc.kubeconfig.x',
      '$KV.SECRET_KEYS.bootstrap-svc.key.x',
      'evt.1.default.demo.quarantine-gateway.ClusterQuarantined',
      '$JS.API.STREAM.DELETE.EVENTS',
      '$JS.API.STREAM.PURGE.EVENTS',
    ]) {
      expect([subject, allows(publish, subject)]).toEqual([subject, false]);
    }
  });
});

describe('the secrets that a service may read', () => {
  const READERS: Readonly<Record<string, readonly string[]>> = {
    'gateway.connection.lab': ['gateway', 'infra-svc', 'bootstrap-svc'],
    'gateway.connection.lab.jump': ['gateway', 'infra-svc', 'bootstrap-svc'],
    'gateway.key.shared': ['gateway', 'infra-svc', 'bootstrap-svc'],
    'gateway.bootstrap.0a1b2c3d4e5f': ['gateway', 'infra-svc'],
    'gateway.key.bootstrap.7b0f6a3e': ['gateway', 'infra-svc'],
    'gateway.hook.team-a.inventory': ['gateway', 'bootstrap-svc', 'upgrade-svc'],
    'gateway.key.hooks': ['gateway', 'bootstrap-svc', 'upgrade-svc'],
    'infra-svc.ssh-key.lab': ['infra-svc', 'bootstrap-svc'],
    'infra-svc.key.shared': ['infra-svc', 'bootstrap-svc'],
    'bootstrap-svc.kubeconfig.u1': ['gateway', 'bootstrap-svc', 'upgrade-svc'],
    'bootstrap-svc.key.u1': ['gateway', 'bootstrap-svc', 'upgrade-svc'],
    'bootstrap-svc.etcd-ca.u1': ['bootstrap-svc'],
    'bootstrap-svc.join.u1': ['bootstrap-svc'],
    'upgrade-svc.snapshot.u1-s1': ['bootstrap-svc', 'upgrade-svc'],
    'upgrade-svc.key.u1': ['bootstrap-svc', 'upgrade-svc'],
  };

  it.each(Object.entries(READERS))('%s: %j, by name only', (name, readers) => {
    const bucket = name.split('.')[1] === 'key' ? 'SECRET_KEYS' : 'SECRETS';
    const may = SERVICES.filter((service) =>
      allows(servicePermissions(service).publish, `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.${name}`),
    );
    expect([...may].sort()).toEqual([...readers].sort());
  });

  it.each(SERVICES)('%s: none by sequence, by consumer, or by watching', (service) => {
    const { publish, subscribe } = servicePermissions(service);
    for (const subject of ['KV_SECRETS', 'KV_SECRET_KEYS'].flatMap((stream) => [
      `$JS.API.DIRECT.GET.${stream}`,
      `$JS.API.STREAM.MSG.GET.${stream}`,
      `$JS.API.CONSUMER.CREATE.${stream}.x`,
    ]))
      expect([subject, allows(publish, subject)]).toEqual([subject, false]);
    expect(allows(subscribe, '$KV.SECRETS.bootstrap-svc.kubeconfig.u1')).toBe(false);
    expect(allows(subscribe, '$KV.SECRET_KEYS.bootstrap-svc.key.u1')).toBe(false);
  });
});

describe('snapshots of etcd', () => {
  it.each(SERVICES)('are out of reach of %s, unless it is upgrade-svc', (service) =>
    expect(allows(servicePermissions(service).publish, '$O.SNAPSHOTS.M.ZGVtbw==')).toBe(service === 'upgrade-svc'),
  );
});

describe('the rights of a node', () => {
  const w1 = { namespace: 'default', cluster: 'demo', node: 'w1' };
  const w2 = { ...w1, node: 'w2' };
  const { publish, subscribe } = nodePermissions(w1);
  const event = (context: string, type: EventType): string =>
    eventSubject({ namespace: 'default', cluster: 'demo', context }, type);

  it('are its own facts, its own heartbeat, and messages from services to it', () => {
    for (const type of AGENT_EVENT_TYPES)
      expect([type, allows(publish, agentFactSubject(w1, type))]).toEqual([type, true]);
    expect(allows(publish, 'hb.default.demo.w1')).toBe(true);
    expect(allows(subscribe, agentOutputSubject(w1, 'desired'))).toBe(true);
  });

  it('exclude every event that a service writes', () => {
    for (const type of Object.keys(EVENTS) as EventType[])
      expect([type, allows(publish, agentFactSubject(w1, type))]).toEqual([type, AGENT_EVENT_TYPES.includes(type)]);
  });

  it('exclude its neighbour, services, the log and JetStream', () => {
    for (const subject of [
      agentFactSubject(w2, 'NodeReady'),
      'hb.default.demo.w2',
      event('node-w1', 'NodeReady'),
      event('desired-w1', 'DesiredVersionsSet'),
      event('bootstrap', 'ClusterReady'),
      agentOutputSubject(w1, 'desired'),
      agentOutputSubject(w2, 'desired'),
      '$JS.API.DIRECT.GET.EVENTS',
      '$JS.API.INFO',
      '$KV.SECRETS.gateway.x',
      '$SYS.REQ.ACCOUNT.PING',
    ]) {
      expect([subject, allows(publish, subject)]).toEqual([subject, false]);
    }
    for (const subject of [
      agentOutputSubject(w2, 'desired'),
      event('desired-w1', 'DesiredVersionsSet'),
      'hb.>',
      '_INBOX.x',
    ])
      expect([subject, allows(subscribe, subject)]).toEqual([subject, false]);
  });
});
