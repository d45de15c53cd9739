import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import { ClusterRequest } from '@fairlead/contracts';
import { demoRequest } from './demo.effects.js';
import { greetingText } from './greeting.js';
import { SERVICE_MEMORY } from './memory.settings.js';
import { SITES } from './up.settings.js';
import { isReadyLine, planPrograms, SERVICE_NAMES, type Surroundings } from './programs.planner.js';

const surroundings: Surroundings = {
  checkout: '/checkout',
  nodeBinary: '/usr/bin/node',
  dataDir: '/data',
  nats: {
    url: 'nats://127.0.0.1:20000',
    agentUrls: 'nats://127.0.0.1:20000,wss://127.0.0.1:443',
    credsFile: (holder) => `/data/creds/${holder}.creds`,
    caFile: undefined,
    monitorUrl: 'http://127.0.0.1:20002',
    storeDir: '/data/nats',
    nodeSigningFile: '/data/keys/node-signing.json',
    accountSigningFile: '/data/keys/account-signing.json',
  },
  databases: {
    gateway: 'postgres://gateway',
    'infra-svc': 'postgres://infra',
    'bootstrap-svc': 'postgres://bootstrap',
    'upgrade-svc': 'postgres://upgrade',
  },
  masterKeyFile: '/data/keys/master.key',
  localTokenFile: '/data/keys/local.token',
  gatewayPort: 7080,
  helmProgram: '/usr/bin/helm',
  http: { address: '127.0.0.1', tls: undefined, plainText: false },
  lab: { port: 20001, token: 'secret', delays: 'none', light: true },
};

const planned = (name: string, given: Surroundings = surroundings) => {
  const plan = planPrograms(given).find((program) => program.name === name);
  if (plan === undefined) throw new Error(`there is no ${name}`);
  return plan;
};

describe('the programs of an instance', () => {
  it('are the lab, the revoker and the four services', () =>
    expect(planPrograms(surroundings).map(({ name }) => name)).toEqual(['lab', 'revoker', ...SERVICE_NAMES]));

  it('are the tunnel as well where a domain is configured, which has neither database nor master key', () => {
    const tunnel = {
      ...{ domain: 'example.org', address: '127.0.0.1', sshPort: 2222, tlsPort: 8443 },
      ...{ keyFile: '/data/keys/tunnel-host.key', publicKeyFile: '/data/keys/tunnel-host.key.pub' },
      authorityFile: '/data/keys/tunnel-authority.pem',
    };
    const given = { ...surroundings, tunnel };
    expect(planned('tunnel', given).env).toEqual({
      NATS_URL: surroundings.nats.url,
      NATS_CREDS: '/data/creds/tunnel.creds',
      TUNNEL_HOST_KEY_FILE: '/data/keys/tunnel-host.key',
      TUNNEL_AUTHORITY_FILE: '/data/keys/tunnel-authority.pem',
      TUNNEL_HOST: '127.0.0.1',
      TUNNEL_SSH_PORT: '2222',
      TUNNEL_TLS_PORT: '8443',
      PORT: '0',
    });
    expect(planned('infra-svc', given).env).toMatchObject({ PUBLISH_DOMAIN: 'example.org', PUBLISH_PORT: '8443' });
    expect(planned('gateway', given).env).toMatchObject({ PUBLISH_DOMAIN: 'example.org' });
    expect(planned('gateway').env).not.toHaveProperty('PUBLISH_DOMAIN');
    for (const { name, env } of planPrograms(given))
      if (name !== 'tunnel') expect(Object.values(env)).not.toContain('/data/keys/tunnel-host.key');
  });

  it('are no lab where machines come from elsewhere', () =>
    expect(planPrograms({ ...surroundings, lab: undefined }).map(({ name }) => name)).toEqual([
      'revoker',
      ...SERVICE_NAMES,
    ]));

  it('of which the revoker alone may sign the claims of the nodes` account, and has no database and no master key', () => {
    expect(planned('revoker').env).toEqual({
      NATS_URL: surroundings.nats.url,
      NATS_CREDS: '/data/creds/revoker.creds',
      NATS_SYSTEM_CREDS: '/data/creds/revoker-system.creds',
      NATS_ACCOUNT_SIGNING_FILE: '/data/keys/account-signing.json',
      PORT: '0',
    });
    for (const { name, env } of planPrograms(surroundings))
      if (name !== 'revoker') expect(Object.values(env)).not.toContain('/data/keys/account-signing.json');
  });

  it('are no revoker at a server of another operator', () => {
    const nats = { ...surroundings.nats, accountSigningFile: undefined };
    expect(planPrograms({ ...surroundings, nats }).map(({ name }) => name)).toEqual(['lab', ...SERVICE_NAMES]);
  });

  it('each get their own credential and database', () => {
    for (const name of SERVICE_NAMES) {
      expect(planned(name).env).toMatchObject({
        NATS_URL: surroundings.nats.url,
        NATS_CREDS: `/data/creds/${name}.creds`,
        DATABASE_URL: surroundings.databases[name],
        FAIRLEAD_MASTER_KEY_FILE: '/data/keys/master.key',
      });
    }
  });

  it('serve the REST API where, and as, it was asked for, and watch the disk of NATS', () => {
    expect(planned('gateway').env).toMatchObject({
      HOST: '127.0.0.1',
      NATS_MONITOR_URL: 'http://127.0.0.1:20002',
      NATS_STORE_DIR: '/data/nats',
    });
    expect(planned('gateway').env).not.toHaveProperty('HTTP_PLAIN_TEXT');
    const tls = { certFile: '/c.pem', keyFile: '/k.pem', caFile: undefined };
    const http = { address: '192.0.2.1', tls, plainText: false };
    expect(planned('gateway', { ...surroundings, http }).env).toMatchObject({
      HOST: '192.0.2.1',
      TLS_CERT_FILE: '/c.pem',
      TLS_KEY_FILE: '/k.pem',
    });
    expect(planned('infra-svc', { ...surroundings, http }).env).not.toHaveProperty('HOST');
  });

  it('each trust the authority of NATS where it is reached by TLS', () => {
    const nats = { ...surroundings.nats, url: 'tls://192.0.2.1:20000', caFile: '/data/keys/nats-ca.pem' };
    for (const name of SERVICE_NAMES) {
      expect(planned(name).env).not.toHaveProperty('NATS_CA_FILE');
      expect(planned(name, { ...surroundings, nats }).env).toMatchObject({ NATS_CA_FILE: '/data/keys/nats-ca.pem' });
    }
  });

  it('in which bootstrap-svc and the gateway have the same NATS URLs for agents', () => {
    for (const name of ['bootstrap-svc', 'gateway'])
      expect(planned(name).env).toMatchObject({ AGENT_NATS_URLS: surroundings.nats.agentUrls });
  });

  it('listen where the kernel likes, but for the gateway', () => {
    expect(planned('gateway').env['PORT']).toBe('7080');
    expect(planned('infra-svc').env['PORT']).toBe('0');
  });

  it('of which the lab alone gets its token, and not on its command line', () => {
    expect(planned('lab').env).toEqual({ LAB_TOKEN: 'secret' });
    for (const { name, args, env } of planPrograms(surroundings)) {
      expect(args.join(' ')).not.toContain('secret');
      if (name !== 'lab') expect(Object.values(env)).not.toContain('secret');
    }
    expect(planned('lab').args).toEqual(['--data', '/data/lab', '--port', '20001', '--delays', 'none', '--light']);
  });

  it('of which infra-svc alone reaches an address of this machine for realms: the identity provider of the lab, by its port', () => {
    const lab = { port: 20001, identityPort: 20009, token: 'secret', delays: 'none', light: true } as const;
    for (const { name, env } of planPrograms({ ...surroundings, lab })) {
      const allowed = Object.entries(env).filter(([setting]) => setting.endsWith('_ADDRESSES_ALLOWED'));
      expect([name, allowed]).toEqual([
        name,
        name === 'infra-svc' ? [['REALM_ADDRESSES_ALLOWED', '127.0.0.1/32:20009']] : [],
      ]);
    }
  });

  it('of which bootstrap-svc alone may mint credentials for nodes, and not even that with a foreign server', () => {
    expect(planned('bootstrap-svc').env).toMatchObject({
      NATS_NODE_SIGNING_FILE: '/data/keys/node-signing.json',
      AGENT_NODE_BINARY: '/usr/bin/node',
    });
    for (const name of ['gateway', 'infra-svc', 'upgrade-svc'])
      expect(planned(name).env).not.toHaveProperty('NATS_NODE_SIGNING_FILE');
    expect(
      planned('bootstrap-svc', { ...surroundings, nats: { ...surroundings.nats, nodeSigningFile: undefined } }).env,
    ).not.toHaveProperty('NATS_NODE_SIGNING_FILE');
  });

  it('of which the simulated hosts come after everything else', () =>
    expect(
      planPrograms(surroundings)
        .filter(({ niceness }) => niceness > 0)
        .map(({ name }) => name),
    ).toEqual(['lab']));

  it('of which the services start with settings for less memory, in every kind of installation', () => {
    for (const { name, runtime } of planPrograms(surroundings))
      expect(runtime).toEqual(name === 'lab' ? {} : SERVICE_MEMORY);
    const byHand = readFileSync(new URL('../../../../docs/running.md', import.meta.url), 'utf8');
    const dockerfile = readFileSync(new URL('../../../../Dockerfile', import.meta.url), 'utf8');
    for (const [name, value] of Object.entries(SERVICE_MEMORY)) {
      const setting = `${name}=${value.includes(' ') ? `"${value}"` : value}`;
      expect(byHand).toContain(setting);
      expect(dockerfile).toContain(setting);
    }
  });

  it('of which each has two threads of V8 beside its own with these settings', () => {
    const threads = (env: Readonly<Record<string, string>>): number =>
      Number(
        execFileSync(process.execPath, ['-p', 'fs.readdirSync("/proc/self/task").length'], { env, encoding: 'utf8' }),
      );
    expect(threads(SERVICE_MEMORY)).toBe(threads({}) - 2);
  });

  it('are ready when they say so themselves', () => {
    expect(isReadyLine('gateway', 'FAIRLEAD READY gateway 7080')).toBe(true);
    expect(isReadyLine('gateway', 'FAIRLEAD READY infra-svc 4000')).toBe(false);
    expect(isReadyLine('gateway', '{"message":"FAIRLEAD READY gateway 1"}')).toBe(false);
  });
});

describe('the demo cluster', () => {
  it('is what the REST API accepts', () => {
    const request = demoRequest('lab', {
      controlPlanes: 3,
      workers: 2,
      kubernetesVersion: 'v1.34.4',
      etcd: 'external',
    });
    expect(ClusterRequest.safeParse(request).success).toBe(true);
    expect(request).toMatchObject({
      name: 'demo',
      serviceType: 'single',
      config: { kubernetes: { networkCni: 'flannel', version: 'v1.34.4' } },
    });
  });

  it('is made of real hosts where there are some, and says so', () => {
    const request = demoRequest('nspawn', {
      controlPlanes: 1,
      workers: 1,
      kubernetesVersion: undefined,
      etcd: 'local',
    });
    expect(ClusterRequest.safeParse(request).success).toBe(true);
    expect(request.controlPlane).toEqual([{ connection: 'nspawn', count: 1, spec: 'nspawn.medium' }]);
    expect(JSON.stringify(request)).not.toContain('simulated');
  });

  it('is a single node without workers', () =>
    expect(
      demoRequest('lab', { controlPlanes: 1, workers: 0, kubernetesVersion: undefined, etcd: 'local' }),
    ).toMatchObject({
      singleNode: true,
    }));
});

describe('the greeting', () => {
  const base = {
    server: 'http://127.0.0.1:7080',
    page: 'http://127.0.0.1:7080/#/sign-in/fc_1',
    tokenFile: '/data/keys/local.token',
    dataDir: '/data',
    command: 'npx fairlead',
    isElsewhere: false,
    site: SITES.lab,
  };
  const cluster = { name: 'demo', kubeconfigFile: '/data/kubeconfigs/demo.yaml', endpoint: 'https://127.10.0.1:6443' };
  const text = (greeting: Parameters<typeof greetingText>[0]): string => greetingText(greeting, pc.createColors(false));

  it('shows how to reach the cluster, and that its machines are simulated', () => {
    const printed = text({ ...base, cluster, serves: 'here' });
    expect(printed).toContain('kubectl --kubeconfig /data/kubeconfigs/demo.yaml get nodes');
    expect(printed).toContain('http://127.0.0.1:7080/docs');
    expect(printed).toContain('/data/keys/local.token');
    expect(printed).toContain('simulated');
  });

  it('gives the link that signs in, and none when nothing is served', () => {
    expect(text({ ...base, cluster, serves: 'here' })).toContain(
      'Page            http://127.0.0.1:7080/#/sign-in/fc_1',
    );
    expect(text({ ...base, page: undefined, cluster, serves: 'no more' })).not.toContain('sign-in');
  });

  it.each(['lab', 'nspawn'] as const)('says that the machines of %s are no security boundary', (site) => {
    expect(text({ ...base, site: SITES[site], cluster, serves: 'here' })).toContain('no security boundary');
    expect(text({ ...base, site: SITES[site], serves: 'in the background' })).toContain('no security boundary');
  });

  it('names the data folder where commands would not find the instance by themselves', () => {
    const printed = text({ ...base, cluster, isElsewhere: true, serves: 'in the background' });
    expect(printed).toContain('npx fairlead cluster describe demo --data /data\n');
    expect(printed).toContain('npx fairlead down --data /data stops it, and npx fairlead up --data /data continues');
    expect(text({ ...base, cluster, serves: 'here' })).not.toContain('--data');
  });

  it('mentions the background where it serves there', () => {
    const printed = text({ ...base, cluster, serves: 'in the background' });
    expect(printed).toContain('It runs in the background; npx fairlead down stops it');
    expect(printed).not.toContain('Ctrl-C');
  });

  it('offers no next step when nothing runs', () =>
    expect(text({ ...base, cluster, serves: 'no more' })).not.toContain('Next:'));

  it('says what can be done when the demo failed', () => {
    const printed = text({ ...base, failed: 'demo', serves: 'here' });
    expect(printed).toContain('npx fairlead cluster retry demo --wait');
    expect(printed).not.toContain('cluster create');
  });

  it('offers a first cluster when there is none', () =>
    expect(text({ ...base, serves: 'here' })).toContain('npx fairlead cluster create'));

  it('offers to look at the cluster that is there from an earlier start', () => {
    const printed = text({ ...base, existing: 'demo', serves: 'in the background' });
    expect(printed).toContain('npx fairlead cluster describe demo\n');
    expect(printed).not.toContain('cluster create');
  });
});
