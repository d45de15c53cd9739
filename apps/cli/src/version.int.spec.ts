import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from './spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from './spec/io.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);
describe('version', () => {
  it('says of each network whether its data plane was ever run', async () => {
    const networks = [
      { cni: 'cilium', version: 'v1.20.2', images: 'registry', verifiedOn: 'lab' },
      { cni: 'flannel', version: 'v0.28.4', images: 'mirror', verifiedOn: 'real' },
    ];
    const kubernetes = { default: 'v1.34.4', known: ['v1.34.4'] };
    gateway.on('GET', '/version', { body: { kind: 'Version', fairlead: '0.1.0', kubernetes, networks } });
    const { stdout } = await ask(['version']);
    expect(stdout).toContain('networks    cilium v1.20.2: applied in the lab only, data plane never run\n');
    expect(stdout).toContain('            flannel v0.28.4 with the images of a mirror: run on real hosts');
  });

  it('is printed also without a server', async () => {
    expect(await run(['version', '--server', 'http://127.0.0.1:1'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('none is reached'),
    });
  });
});
