import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const GRAFANA = {
  ...{ key: 'monitoring-grafana', namespace: 'monitoring', name: 'grafana', state: 'Published', available: true },
  ...{ subdomain: 'grafana', fqdn: 'grafana.demo.example.org', url: 'https://grafana.demo.example.org' },
  ...{ label: 'Grafana', icon: '', description: '', groups: [], message: '' },
};
const REFUSED = {
  ...{ key: 'team-b-grafana', namespace: 'team-b', name: 'grafana', state: 'Refused', available: false },
  ...{ subdomain: '', fqdn: '', url: '', label: '', icon: '', description: '', groups: [] },
  message: 'NameTaken: the name grafana is used by monitoring/grafana',
};

describe('fairlead cluster services', () => {
  let gateway: FakeGateway;

  beforeEach(async () => {
    gateway = new FakeGateway();
    await gateway.start();
  });
  afterEach(() => gateway.stop());

  const ask = (services: readonly object[] | undefined, ...args: readonly string[]): Promise<Ran> => {
    const body = clusterView(services === undefined ? {} : ({ services } as never));
    gateway.on('GET', '/ns/default/clusters/demo', { status: 200, body });
    return run(['--server', gateway.url, 'cluster', 'services', 'demo', ...args]);
  };

  it('lists where browsers find them, and why one is not published', async () => {
    const { code, stdout } = await ask([GRAFANA, REFUSED]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^monitoring-grafana +Published +yes +https:\/\/grafana\.demo\.example\.org/mu);
    expect(stdout).toMatch(/^team-b-grafana +Refused +no +- /mu);
    expect(stdout).toContain('NameTaken');
  });

  it('says where none asks to be published', async () => {
    expect((await ask(undefined)).stdout).toBe('No Service of demo asks to be published.\n');
  });

  it('prints all that is known of them for programs', async () => {
    const { stdout } = await ask([GRAFANA], '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject([GRAFANA]);
  });
});
