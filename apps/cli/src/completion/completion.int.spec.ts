import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { COMPLETION_SCRIPTS } from './scripts.js';

const DEMO = '/ns/default/clusters/demo';
const named = (...names: readonly string[]) => ({ body: { items: names.map((name) => ({ name })) } });
let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  gateway
    .on('GET', '/ns/default/clusters', { body: { items: [clusterView()] } })
    .on('GET', '/ns/team-a/clusters', named('theirs'))
    .on('GET', `${DEMO}/nodes`, named('demo-cp-1', 'demo-w-1'))
    .on('GET', `${DEMO}/manifest`, { body: { spec: { pools: [{ name: 'web' }, { name: 'batch' }] } } })
    .on('GET', `${DEMO}/etcd/snapshots`, named('demo-20261121'))
    .on('GET', '/ns/default/cluster-templates', { body: { items: [{ metadata: { name: 'small' } }] } })
    .on('GET', `${DEMO}/manifest/generations`, { body: { items: [{ generation: 2 }, { generation: 1 }] } })
    .on('GET', '/connections', named('lab', 'site'))
    .on('GET', '/mcir/connections/lab/specs', named('lab.medium', 'lab.large'))
    .on('GET', '/mcir/connections/site/specs', named('rack.large'))
    .on('GET', '/ns', named('default', 'team-a'))
    .on('GET', '/version', {
      body: {
        kind: 'Version',
        fairlead: '0.1.0',
        networks: [],
        kubernetes: { default: 'v1.34.4', known: ['v1.34.4', 'v1.35.4'] },
      },
    });
});
afterEach(() => gateway.stop());

const complete = async (line: string, env = {}) => {
  const words = line.split(' ').slice(1);
  const { code, stdout, stderr } = await run(
    ['__complete', '--', ...words],
    fakeIo({ env: { FAIRLEAD_SERVER: gateway.url, ...env } }),
  );
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter((word) => word !== '');
};

describe('completion', () => {
  it.each([
    ['fairlead cluster get ', ['demo']],
    ['fairlead cluster get -n team-a ', ['theirs']],
    ['fairlead -n team-a cluster get ', ['theirs']],
    ['fairlead cluster get --namespace=team-a ', ['theirs']],
    ['fairlead pool scale demo ', ['web', 'batch']],
    ['fairlead pool create demo ', []],
    ['fairlead cluster rollback demo --to ', ['2', '1']],
    ['fairlead cluster history demo --generation ', ['2', '1']],
    ['fairlead node drain demo ', ['demo-cp-1', 'demo-w-1']],
    ['fairlead node drain demo demo-cp-1 ', ['demo-cp-1', 'demo-w-1']],
    ['fairlead node cordon demo --pool ', ['web', 'batch']],
    ['fairlead node join-command demo --pool ', ['web', 'batch']],
    ['fairlead pool bootstrap-data demo ', ['web', 'batch']],
    ['fairlead node exec demo ', ['demo-cp-1', 'demo-w-1']],
    ['fairlead etcd restore demo ', ['demo-20261121']],
    ['fairlead template export ', ['small']],
    ['fairlead cluster create x --spec ', ['lab.medium', 'lab.large', 'rack.large']],
    ['fairlead cluster create x --connection site --spec ', ['rack.large']],
    ['fairlead cluster create x --connection ', ['lab', 'site']],
    ['fairlead cluster create x --kubernetes-version ', ['v1.34.4', 'v1.35.4']],
    ['fairlead upgrade plan demo --to ', ['v1.34.4', 'v1.35.4']],
    ['fairlead audit diff demo --to ', []],
    ['fairlead cluster list -n ', ['default', 'team-a']],
    ['fairlead connection grant site ', ['default', 'team-a']],
    ['fairlead completion ', ['bash', 'zsh', 'fish']],
  ])('offers the current names of the server for "%s"', async (line, names) =>
    expect(await complete(line)).toEqual(names),
  );

  it('offers the contexts of this user', async () => {
    const home = newFolder('completion');
    const env = { XDG_CONFIG_HOME: home };
    await run(['context', 'set', 'prod', '--server', gateway.url], fakeIo({ env }));
    expect(await complete('fairlead context use ', env)).toEqual(['prod']);
    expect(await complete('fairlead cluster list --context ', env)).toEqual(['prod']);
    writeFileSync(join(home, 'fairlead', 'contexts.json'), '{');
    expect(await complete('fairlead context use ', env)).toEqual([]);
    removeFolder(home);
  });

  it('prints nothing within about a second if a server is unreachable, hangs, refuses or returns invalid names', async () => {
    expect(await complete('fairlead cluster get ', { FAIRLEAD_SERVER: 'http://127.0.0.1:1' })).toEqual([]);
    gateway.on('GET', '/ns/default/clusters', () => 'never');
    const before = performance.now();
    expect(await complete('fairlead cluster get ')).toEqual([]);
    expect(performance.now() - before).toBeLessThan(10_000);
    gateway.on('GET', '/ns/default/clusters', { body: 'not JSON' });
    expect(await complete('fairlead cluster get ')).toEqual([]);
    gateway.on('GET', '/ns/default/clusters', { body: { items: 7 } });
    expect(await complete('fairlead cluster get ')).toEqual([]);
    gateway.on('GET', '/ns/default/clusters', named('$(touch /tmp/owned)', 'a b', 'demo', '`id`', '*'));
    expect(await complete('fairlead cluster get ')).toEqual(['demo']);
  });

  it('completes in a real bash, without expanding the candidates', async () => {
    const home = newFolder('completion-bash');
    // A fake program for the script, which prints the output of the real entry point above.
    writeFileSync(join(home, 'fairlead'), `#!/bin/sh\nprintf '%s\\n' demo demo-2 other 'de$(touch ${home}/owned)'\n`);
    chmodSync(join(home, 'fairlead'), 0o755);
    const script = `${COMPLETION_SCRIPTS.bash}
COMP_WORDS=(fairlead cluster get de); COMP_CWORD=3; _fairlead; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('/bin/bash', ['--norc', '-c', script], {
      env: { PATH: `${home}:/usr/bin:/bin` },
    });
    expect(stdout).toBe(`demo\ndemo-2\nde$(touch ${home}/owned)\n`);
    expect(existsSync(join(home, 'owned'))).toBe(false);
    removeFolder(home);
  });
});
