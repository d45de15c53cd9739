import { cacheFolder, localMirror } from '@fairlead/mirror';
import { hasRootfs } from '@fairlead/nspawn';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { localCatalogueSha256, MIRROR_AT, startOwnHosts, type OwnHosts } from './own.hosts.js';
import { VERSION } from './real.system.js';
import { addressesOfPods, talks, webManifests } from './workload.js';

const MINUTE_MS = 60_000;

describe('a cluster of hosts with different systems', () => {
  const folder = newFolder('systems');
  let hosts: OwnHosts;
  let kubectl: Kubectl;

  beforeAll(async () => {
    if (!hasRootfs(cacheFolder(process.env), 'debian-12'))
      throw new Error('hosts of Debian 12 are not built: npm run hosts -- --system debian-12 rootfs');
    hosts = await startOwnHosts({
      names: ['rack-1', 'rack-2', 'rack-3'],
      systems: { 'rack-2': 'debian-12' },
      cidr: '198.18.69.0/24',
      readOnly: { [MIRROR_AT]: localMirror(process.env) },
    });
    await hosts.become('mixed', { kind: 'files', location: MIRROR_AT, catalogueSha256: localCatalogueSha256() });
    kubectl = await hosts.kubectl('mixed');
  }, 15 * MINUTE_MS);

  afterAll(async () => {
    await hosts?.stop();
    removeFolder(folder);
  }, 3 * MINUTE_MS);

  it('is Ready, each node with its own system and its container runtime', async () => {
    const nodes = await nodesOf(kubectl);
    expect(nodes.map(({ version, ready }) => ({ version, ready }))).toEqual(
      nodes.map(() => ({ version: VERSION, ready: true })),
    );
    const path = '{range .items[*].status.nodeInfo}{.osImage}: {.containerRuntimeVersion}{"\\n"}{end}';
    const systems = (await kubectl('get', 'nodes', '-o', `jsonpath=${path}`)).trim().split('\n').sort();
    expect(systems).toEqual([
      expect.stringMatching(/^Debian GNU\/Linux 12 \(bookworm\): containerd:\/\/1\.6\./),
      expect.stringMatching(/^Debian GNU\/Linux 13 \(trixie\): containerd:\/\/1\.7\./),
      expect.stringMatching(/^Debian GNU\/Linux 13 \(trixie\): containerd:\/\/1\.7\./),
    ]);
  });

  it(
    'has pods that reach each other across them and resolve names',
    async () => {
      const manifest = join(folder, 'web.json');
      writeFileSync(manifest, JSON.stringify(webManifests));
      await kubectl('apply', '-f', manifest);
      await rolledOut(kubectl, 'deployment/web');
      const pods = await addressesOfPods(kubectl);
      expect(new Set(pods.map(({ node }) => node)).size).toBe(2);
      for (const from of pods) expect(await talks(kubectl, from.name, pods)).toEqual([]);
    },
    6 * MINUTE_MS,
  );
});
