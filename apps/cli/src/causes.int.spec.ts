import { ensureCertificates } from '@fairlead/embedded';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fakeIo, run } from './spec/io.fixtures.js';

const MANIFEST = JSON.stringify({
  ...{ apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'demo' } },
  spec: { controlPlane: { replicas: 1, connection: 'lab', machineType: 's' }, pools: [] },
});

/** Commands of each kind: reads, lists, changes, streams, and commands that send several requests first. */
const COMMANDS: readonly string[] = [
  ...['cluster list', 'cluster get demo', 'cluster get demo -o yaml', 'cluster describe demo', 'cluster wait demo'],
  ...['cluster create demo --connection lab --machine-type s', 'cluster create -f -', 'cluster delete demo --yes'],
  ...['cluster pause demo', 'cluster retry demo', 'apply -f - --yes', 'diff -f -', 'export demo', 'kubeconfig demo'],
  ...['node list demo', 'node describe demo w-1', 'node add demo', 'node drain demo w-1 --yes'],
  ...['node exec demo w-1 -- uptime', 'node logs demo w-1', 'pool list demo', 'pool scale demo web --replicas 2'],
  ...['upgrade plan demo --to v1.35.4', 'upgrade start demo --to v1.35.4 --yes', 'upgrade status demo'],
  ...['upgrade retry demo', 'etcd list demo', 'etcd snapshot demo', 'etcd restore demo s1 --yes'],
  ...['certificates list demo', 'events demo', 'audit demo', 'audit trace demo 60', 'template list'],
  ...['whoami', 'token list', 'token create ci --role viewer', 'namespace list', 'namespace quota team-a'],
  ...['connection list', 'connection hosts site', 'connection verify site', 'application list', 'realm list'],
];

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const status =
  (code: number, reason: string): Answer =>
  (_request, response) => {
    const message = 'The request was not carried out.';
    const body = { kind: 'Status', code, reason, message, help: 'Do this.', errors: [{ reason, message, help: '' }] };
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

/** The response of a proxy or a crashed server. */
const page =
  (code: number, text: string): Answer =>
  (_request, response) =>
    void response.writeHead(code, { 'content-type': 'text/html' }).end(text);

const NEVER: Answer = () => undefined;

interface Cause {
  readonly exit: number;
  readonly url: () => string;
  readonly answer?: Answer;
}

const folder = newFolder('causes');
let answer: Answer = () => undefined;
let limitMs = 60_000;
let plain: Server;
let secure: Server;
let closedPort: number;
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const listening = (server: Server): Promise<void> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
const http = (): string => `http://127.0.0.1:${portOf(plain)}`;

beforeAll(async () => {
  const { serverFile } = await ensureCertificates(join(folder, 'own'), ['127.0.0.1']);
  const pem = readFileSync(serverFile, 'utf8');
  const answering: Answer = (request, response) => answer(request, response);
  [plain, secure] = [createServer(answering), createTlsServer({ cert: pem, key: pem }, answering)];
  const gone = createServer();
  await Promise.all([plain, secure, gone].map(listening));
  closedPort = portOf(gone);
  await new Promise((resolve) => gone.close(resolve));
  // The client's own timeout is one minute.
  const { setTimeout: later } = globalThis;
  jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation(((work: () => void, ms?: number) => later(work, ms === 60_000 ? limitMs : ms)) as typeof later);
});

afterAll(async () => {
  jest.restoreAllMocks();
  for (const server of [plain, secure]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  removeFolder(folder);
});

const CAUSES: Readonly<Record<string, Cause>> = {
  'no server': { exit: 3, url: () => `http://127.0.0.1:${closedPort}` },
  'a wrong token': { exit: 4, url: http, answer: status(401, 'auth.token-invalid') },
  'no permission': { exit: 4, url: http, answer: status(403, 'auth.role-missing') },
  'something that does not exist': { exit: 5, url: http, answer: status(404, 'cluster.unknown') },
  'a conflict': { exit: 6, url: http, answer: status(409, 'cluster.busy') },
  'a wrong request': { exit: 7, url: http, answer: status(422, 'cluster.spec-unknown') },
  'an error of the server': { exit: 1, url: http, answer: status(500, 'system.unexpected') },
  'a crash of the server': { exit: 1, url: http, answer: page(500, '<html>TypeError: x is undefined at a.js:1:1') },
  'a proxy without a server': { exit: 3, url: http, answer: page(502, '<html>Bad Gateway') },
  'no answer in time': { exit: 3, url: http, answer: NEVER },
  'a connection that is cut': { exit: 3, url: http, answer: (request) => void request.socket.destroy() },
  'a certificate that is not trusted': { exit: 3, url: () => `https://127.0.0.1:${portOf(secure)}` },
  'TLS with a server that has none': { exit: 3, url: () => `https://127.0.0.1:${portOf(plain)}` },
};

/** Terms of Node.js, OpenSSL, undici, zod and commander that users should not need to know. */
const OF_LIBRARIES =
  /\b(ECONN\w*|EPROTO|ENOENT|ERR_\w+|fetch failed|socket hang up|undici|zod|OpenSSL|SSL routines|AbortError|TimeoutError|TypeError|SyntaxError|DEPTH_ZERO\w*|UNABLE_TO\w*)\b|[Ss]elf[- ]signed|operation was aborted|at \w+ \(|node:|\[object/;

describe.each(Object.entries(CAUSES))('%s', (_title, { exit, url, answer: own = () => undefined }) => {
  it.each(COMMANDS)('ends "%s" with its exit code, one sentence, and what to do', async (line) => {
    answer = own;
    limitMs = own === NEVER ? 50 : 60_000;
    const io = fakeIo({ env: { FAIRLEAD_SERVER: url(), FAIRLEAD_TOKEN: 'secret' }, stdin: MANIFEST });
    const { code, stdout, stderr } = await run(line.split(' '), io);
    expect([code, stdout]).toEqual([exit, '']);
    const lines = stderr.trimEnd().split('\n');
    const [sentence = '', ...advice] = lines.slice(lines.findIndex((one) => one.startsWith('Error: ')));
    expect(sentence).toMatch(/^Error: \S.{10,}/);
    expect(advice).toEqual([expect.stringMatching(/^ {2}\S/)]);
    expect(stderr).not.toMatch(OF_LIBRARIES);
  });
});
