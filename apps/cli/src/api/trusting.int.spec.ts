import { ensureCertificates } from '@fairlead/embedded';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Story } from '../spec/story.fixtures.js';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';

const folder = newFolder('trust');
let gateway: FakeGateway;
let own: string;
let stranger: string;

beforeAll(async () => {
  const certificates = await ensureCertificates(join(folder, 'own'), ['127.0.0.1']);
  own = certificates.caFile;
  stranger = (await ensureCertificates(join(folder, 'stranger'), ['127.0.0.1'])).caFile;
  gateway = new FakeGateway(readFileSync(certificates.serverFile, 'utf8'));
  await gateway.start();
  gateway.on('GET', '/ns/default/clusters', { body: { kind: 'ClusterList', items: [clusterView()] } });
  gateway.state(...new Story().requested(0).at(1, 'ClusterAccepted').events);
});

afterAll(async () => {
  await gateway?.stop();
  removeFolder(folder);
});

const env = () => ({ FAIRLEAD_SERVER: gateway.url, FAIRLEAD_TOKEN: 'secret' });

describe('a server whose certificate is from a private authority', () => {
  it('is trusted with the file of that authority, from an option or a variable', async () => {
    expect(await run(['cluster', 'list', '--ca-file', own], fakeIo({ env: env() }))).toMatchObject({ code: 0 });
    const given = { ...env(), FAIRLEAD_CA_FILE: own };
    expect((await run(['cluster', 'list'], fakeIo({ env: given }))).stdout).toContain('demo');
  });

  it('receives no token without that file, or with the file of another authority', async () => {
    const asked = gateway.received.length;
    for (const args of [[], ['--ca-file', stranger]]) {
      const { code, stderr } = await run(['cluster', 'list', ...args], fakeIo({ env: env() }));
      expect([code, stderr]).toEqual([3, expect.stringMatching(/cannot be reached: .*certificate/)]);
    }
    expect(gateway.received).toHaveLength(asked);
  });

  it('streams its events', async () => {
    const io = fakeIo({ env: { ...env(), FAIRLEAD_CA_FILE: own } });
    const following = run(['events', 'demo', '--follow', '--since', '0'], io);
    await eventually(() => io.stdout().includes('ClusterAccepted'));
    io.pressCtrlC();
    expect((await following).stdout).toContain('ClusterAccepted');
  });

  it('is not called if the file of that authority cannot be read, which the error names', async () =>
    expect(await run(['cluster', 'list', '--ca-file', '/none.pem'], fakeIo({ env: env() }))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/none.pem, cannot be read'),
    }));
});
