import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SERVED } from '../apps/gateway/src/autoscaler/autoscaler.fixtures.js';
import { prepareWorld, request, startTestGateway, type TestGateway } from '../apps/gateway/src/gateway.fixtures.js';

/** Guarantees for responses: never a server error, always a documented status and a body of the documented shape. */
const CHECKS = 'not_a_server_error,status_code_conformance,response_schema_conformance';

/** Streams do not end. */
const WITHOUT = ['streamEvents', 'streamAllEvents'];

const SECONDS = Number(process.env['FAIRLEAD_SCHEMATHESIS_SECONDS'] ?? 240);
const GRACE_SECONDS = 120;

let gateway: TestGateway;
const folder = newFolder('schemathesis');

// All requests use one token, without rate limits.
for (const what of ['TOKEN_CHANGES', 'TOKEN_READS', 'NAMESPACE_CHANGES', 'NAMESPACE_READS'])
  process.env[`${what}_LIMIT`] = '100000/1000000';

beforeAll(async () => {
  // Without an address for autoscalers and an agent for hosts, their requests return 503, which would not be a fault.
  gateway = await startTestGateway({ variables: { ...SERVED, AGENT_BUNDLE: fileURLToPath(import.meta.url) } });
  await prepareWorld(gateway);
  await gateway.ask('POST', '/ns/default/clusters', { body: request('demo') });
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
  removeFolder(folder);
}, 30_000);

/** Names of existing objects, so that commands get further than 404. Deletions use generated names. */
const PLACES = `[parameters]
"path.namespace" = "default"
"path.cluster" = "demo"
"path.connection" = "lab"

[[operations]]
include-method = "DELETE"
parameters = { "path.namespace" = "gone", "path.cluster" = "gone", "path.connection" = "gone" }
`;

/** Once with any names, once with those of existing objects. */
const RUNS = [
  { title: 'any names', config: '' },
  { title: 'names of what there is', config: PLACES },
];

const schemathesis = (config: string): Promise<{ readonly code: number | null; readonly output: string }> => {
  const file = join(folder, 'schemathesis.toml');
  writeFileSync(file, config);
  const options = [
    ['--config-file', file, 'run', `${gateway.baseUrl()}/openapi.json`, '--url', gateway.baseUrl()],
    ['--header', `Authorization: Bearer ${gateway.token}`, '--checks', CHECKS],
    [
      '--mode',
      'all',
      '--phases',
      'examples,coverage,fuzzing',
      '--max-examples',
      '20',
      '--max-time',
      String(SECONDS / RUNS.length),
    ],
    ['--request-timeout', '20', '--seed', process.env['FAIRLEAD_SCHEMATHESIS_SEED'] ?? '1', '--no-color'],
    ['--continue-on-failure', '--suppress-health-check', 'all', '--generation-database', 'none'],
    WITHOUT.flatMap((id) => ['--exclude-operation-id', id]),
  ].flat();
  const child = spawn(process.env['SCHEMATHESIS'] ?? 'schemathesis', options, { cwd: folder });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const tooLong = setTimeout(() => child.kill(), (SECONDS + GRACE_SECONDS) * 1000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(tooLong);
      resolve({ code, output });
    });
  });
};

describe('requests that schemathesis generates from the OpenAPI document', () => {
  it.each(RUNS)(
    'are answered as documented, never by a server error: $title',
    async ({ config }) => {
      const { code, output } = await schemathesis(config);
      process.stdout.write(output);
      expect([code, output.slice(-6_000)]).toEqual([0, expect.anything()]);
    },
    (SECONDS + GRACE_SECONDS + 10) * 1000,
  );

  it('leave a gateway that accepts the next command', async () => {
    await gateway.ask('POST', '/ns', { body: { name: 'after' } });
    await gateway.ask('PUT', '/connections/after', {
      body: { provider: 'lab', namespaces: ['after'], settings: { endpoint: 'http://127.0.0.1:1' } },
    });
    const set = { connection: 'after', count: 1, spec: 'lab.small' };
    const body = request('after', { controlPlane: [set], worker: [set] });
    const asked = await gateway.ask('POST', '/ns/after/clusters', { body });
    expect(asked.status).toBe(202);
    const shown = await gateway.ask('GET', `/ns/after/clusters/after?minSeq=${asked.headers.get('x-fairlead-seq')}`);
    expect(shown.status).toBe(200);
  });
});
