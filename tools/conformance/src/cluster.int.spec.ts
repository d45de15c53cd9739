import { newFolder, removeFolder } from '@fairlead/testing';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { QUESTIONS } from '../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS } from '../../../test/recorded/recorded.js';
import { Cluster } from './cluster.js';

let folder: string;
beforeEach(() => {
  folder = newFolder('conformance');
});
afterEach(() => removeFolder(folder));

const clusterWhoseKubectl = (does: string): Cluster => {
  const kubectl = join(folder, 'kubectl');
  writeFileSync(kubectl, `#!/bin/sh\n${does}\n`);
  chmodSync(kubectl, 0o755);
  return new Cluster(kubectl, '/admin.conf');
};

it.each(RECORDED_VERSIONS)(
  'the version of a cluster under test is the server version that kubectl reports: %s',
  async (version) => {
    writeFileSync(join(folder, 'said'), recorded(version, QUESTIONS.versions));
    const cluster = clusterWhoseKubectl(
      `[ "$*" = '--kubeconfig /admin.conf version -o json' ] && cat "${folder}/said"`,
    );
    expect(await cluster.version()).toBe(version);
  },
);

it('a failure of kubectl is reported with its own message', async () => {
  const cluster = clusterWhoseKubectl("echo 'The connection to the server was refused' >&2; exit 1");
  await expect(cluster.version()).rejects.toThrow(
    'kubectl version -o failed: The connection to the server was refused',
  );
});
