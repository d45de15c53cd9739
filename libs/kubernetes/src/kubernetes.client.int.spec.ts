import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { existsSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import { createServer as createTlsServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeKubeconfigs, writeKubeconfig, type Kubeconfigs } from './kubeconfig.fixtures.js';
import { serverAt } from './kubeconfig.js';
import { KubernetesClients } from './kubernetes.clients.js';

const listening = async (server: HttpServer | Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** An API server controlled by an attacker, and a machine elsewhere that records requests. */
describe('a client of a cluster whose control plane is hostile', () => {
  let folder: string;
  let elsewhere: HttpServer;
  let api: Server;
  let asked: string[];
  let answered: string[];
  let answer: { readonly status: number; readonly headers?: Record<string, string>; readonly body: string };
  let kubeconfigs: Kubeconfigs;
  let server: string;
  let elsewhereAt: string;
  let clients: KubernetesClients;
  let sealed: string;

  beforeAll(async () => {
    folder = newFolder('kubeconfig');
    elsewhere = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{}');
    });
    elsewhere.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url}`);
      socket.destroy();
    });
    elsewhereAt = `http://127.0.0.1:${await listening(elsewhere)}`;
    kubeconfigs = await makeKubeconfigs({ marker: join(folder, 'executed'), elsewhere: elsewhereAt });
    const request = { commonName: 'kube-apiserver', usage: 'server', sans: ['127.0.0.1'] } as const;
    const { certPem, keyPem } = await kubeconfigs.authority.issue(request, Date.now());
    const tls = { cert: certPem, key: keyPem, ca: kubeconfigs.authority.pair.certPem, requestCert: true };
    api = createTlsServer(tls, (request, response) => {
      answered.push(request.url ?? '');
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
    server = serverAt({ host: '127.0.0.1', port: await listening(api) });
    sealed = await writeKubeconfig(kubeconfigs.authority, undefined, server);
  });
  beforeEach(() => {
    [asked, answered] = [[], []];
    answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"kind":"NodeList","items":[]}' };
    clients = new KubernetesClients();
  });
  afterEach(() => {
    clients.close();
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'KUBECONFIG']) delete process.env[name];
  });
  afterAll(() => {
    api.closeAllConnections();
    api.close();
    elsewhere.closeAllConnections();
    elsewhere.close();
    removeFolder(folder);
  });

  const listNodes = (kubeconfig: string) => {
    const client = clients.of({ uid: 'uid', cluster: 'demo', kubeconfig });
    return client.call('list nodes', () => client.core.listNode());
  };

  it('is built from certificate and key alone, whatever the environment contains about proxies and kubeconfigs', async () => {
    Object.assign(process.env, { HTTPS_PROXY: elsewhereAt, https_proxy: elsewhereAt, KUBECONFIG: '/etc/passwd' });
    expect((await listNodes(sealed)).items).toEqual([]);
    expect([asked, answered]).toEqual([[], ['/api/v1/nodes']]);
  });

  it('accesses no file and no other server for any malicious kubeconfig that was sealed before', async () => {
    for (const { does, text, says } of kubeconfigs.tricks) {
      const reached = text.replaceAll('https://198.18.7.1:6443', server);
      await expect((async () => listNodes(reached))()).rejects.toThrow(says);
      expect([does, existsSync(join(folder, 'executed')), asked, answered]).toEqual([does, false, [], []]);
    }
  });

  it('rejects a sealed kubeconfig that is not of the recorded cluster, before it sends a request', () => {
    const caCertHash = kubeconfigs.authority.publicKeyHash;
    const of = (recorded: { server: string; caCertHash: string }) => () =>
      clients.of({ uid: 'uid', cluster: 'demo', kubeconfig: sealed, recorded });
    expect(of({ server: 'https://198.18.7.1:6443', caCertHash })).toThrow('its server is not https://198.18.7.1:6443');
    expect(of({ server, caCertHash: `sha256:${'0'.repeat(64)}` })).toThrow('certificate authority is not the one');
    expect(of({ server, caCertHash })).not.toThrow();
    expect(answered).toEqual([]);
  });

  it('is kept while it is used, and closed after its idle time', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    // The cache keeps the clock that existed when it was loaded.
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    try {
      const keptMs = 60_000;
      const short = new KubernetesClients(keptMs);
      const client = short.of({ uid: 'uid', cluster: 'demo', kubeconfig: sealed });
      for (let uses = 0; uses < 4; uses += 1) {
        await jest.advanceTimersByTimeAsync(keptMs * 0.9);
        await client.call('list nodes', async () => undefined);
      }
      expect(short.of({ uid: 'uid', cluster: 'demo', kubeconfig: sealed }) === client).toBe(true);
      const close = jest.spyOn(client, 'close');
      await jest.advanceTimersByTimeAsync(keptMs * 1.1);
      expect(close).toHaveBeenCalledTimes(1);
    } finally {
      clock.mockRestore();
      jest.useRealTimers();
    }
  });

  it('follows no redirect of a hostile API server', async () => {
    answer = { status: 302, headers: { location: `${elsewhereAt}/latest/meta-data` }, body: '' };
    await expect(listNodes(sealed)).rejects.toThrow('HTTP 302');
    const client = clients.of({ uid: 'uid', cluster: 'demo', kubeconfig: sealed });
    expect((await client.get('/readyz')).status).toBe(302);
    expect(asked).toEqual([]);
  });

  it('rejects servers that the CA in its kubeconfig did not sign', async () => {
    const other = await makeKubeconfigs({ marker: '/marker', elsewhere: elsewhereAt });
    const foreign = await writeKubeconfig(other.authority, undefined, server);
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await expect(listNodes(foreign)).rejects.toThrow(/certificate/);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
    expect(answered).toEqual([]);
  });
});
