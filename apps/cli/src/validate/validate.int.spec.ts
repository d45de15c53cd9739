import { manifestJsonSchema } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeIo, run } from '../spec/io.fixtures.js';

const MANIFEST = `apiVersion: fairlead.dev/v1alpha1
kind: Cluster
metadata:
  name: shop
spec:
  controlPlane: { replicas: 3, connection: lab, machineType: lab.medium }
  pools:
    - name: web
      replicas: 2
      connection: lab
      machineType: lab.medium
`;

let folder: string;
beforeEach(() => {
  folder = newFolder('validate');
});
afterEach(() => removeFolder(folder));

/** Without a server, an instance or a home. */
const validate = (text: string, ...args: readonly string[]) =>
  run(['validate', '-f', '-', ...args], fakeIo({ stdin: text, cwd: folder }));

describe('fairlead validate', () => {
  it('accepts a manifest without a server', async () => {
    expect(await validate(MANIFEST)).toEqual({ code: 0, stdout: 'cluster/shop valid\n', stderr: '' });
  });

  it('reports every fault at once, with its line and the words of the server', async () => {
    const wrong = MANIFEST.replace('replicas: 3', 'replicas: 2').replace(
      '  pools:',
      '  network: { podCidr: 10.96.0.0/16 }\n  pools:',
    );
    const { code, stdout, stderr } = await validate(wrong);
    expect([code, stdout]).toEqual([7, 'cluster/shop invalid (2 faults)\n']);
    expect(stderr).toMatch(
      /^Standard input:6: Error: .*\[cluster.control-plane-even\]\n {2}Field: spec.controlPlane.replicas/m,
    );
    expect(stderr).toMatch(/^Standard input:7: Error: .*\[cluster.cidr-overlap\]\n {2}Field: spec.network.podCidr/m);
  });

  it('names its own schema, not the document of a server that it did not ask', async () => {
    const { stderr } = await validate(MANIFEST.replace('replicas: 2', 'replicas: -2'));
    expect(stderr).toContain('See the fields with "fairlead schema"');
    expect(stderr).not.toContain('openapi');
  });

  it.each([
    ['a misspelt field', MANIFEST.replace('replicas: 2', 'replica: 2'), 9, 'Did you mean spec.pools[0].replicas?'],
    ['a wrong type', MANIFEST.replace('replicas: 2', 'replicas: two'), 9, 'must be a number, not a text'],
    ['an unknown version', MANIFEST.replace('spec:', 'spec:\n  version: v1.2.3'), 6, 'cluster.version-unknown'],
    ['a pool twice', MANIFEST + MANIFEST.split('\n').slice(7).join('\n'), 12, 'pool.name-taken'],
  ])('names the line of %s', async (_what, text, line, words) => {
    const { code, stderr } = await validate(text);
    expect([code, stderr]).toEqual([7, expect.stringContaining(words)]);
    expect(stderr).toMatch(new RegExp(`^Standard input:${line}: `, 'm'));
  });

  it('judges each document of a stream by itself, counted from the beginning of the stream', async () => {
    const { code, stdout, stderr } = await validate(
      `${MANIFEST}---\n${MANIFEST.replace('replicas: 3', 'replicas: 4')}`,
    );
    expect([code, stdout]).toEqual([7, 'cluster/shop valid\ncluster/shop invalid (1 fault)\n']);
    expect(stderr).toContain('Standard input:18: ');
  });

  it('answers programs on standard output, with the exit code of a refusal', async () => {
    const { code, stdout, stderr } = await validate(MANIFEST.replace('replicas: 3', 'replicas: 4'), '--output', 'json');
    expect([code, stderr]).toEqual([7, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'ManifestValidation',
      valid: false,
      items: [{ name: 'shop', faults: [{ code: 'cluster.control-plane-even', line: 6 }] }],
    });
  });

  it('resolves a cluster with a template that is among the files, and says when it is not', async () => {
    const template = `apiVersion: fairlead.dev/v1alpha1
kind: ClusterTemplate
metadata: { name: small }
spec:
  cluster:
    version: v1.34.4
    controlPlane: { replicas: 1, connection: lab, machineType: lab.medium }
    pools: { connection: lab, machineType: lab.medium }
`;
    const cluster = `apiVersion: fairlead.dev/v1alpha1
kind: Cluster
metadata: { name: shop }
spec: { template: small, pools: [{ name: web, replicas: 1 }] }
`;
    writeFileSync(join(folder, 'template.yaml'), template);
    writeFileSync(join(folder, 'shop.yaml'), cluster);
    const both = await run(['validate', '-f', '.'], fakeIo({ cwd: folder }));
    expect([both.code, both.stdout]).toEqual([0, 'cluster/shop valid\nclustertemplate/small valid\n']);
    const alone = await run(['validate', '-f', 'shop.yaml'], fakeIo({ cwd: folder }));
    expect([alone.code, alone.stdout]).toEqual([
      0,
      expect.stringContaining('its template small is not among the files'),
    ]);
    writeFileSync(join(folder, 'shop.yaml'), cluster.replace('small,', 'small, version: v1.35.4,'));
    const differs = await run(['validate', '-f', '.'], fakeIo({ cwd: folder }));
    expect([differs.code, differs.stderr]).toEqual([7, expect.stringContaining('template.field-fixed')]);
  });

  it.each([
    ['no YAML', 'a: [', 2, 'is not YAML that can be read'],
    ['another kind', 'apiVersion: v1\nkind: Pod\nmetadata: { name: x }\n', 2, 'of kind "Pod"'],
    ['nothing', '', 2, 'Standard input is empty'],
    ['a text of a hundred levels', `${'['.repeat(200)}${']'.repeat(200)}`, 2, 'is not YAML that can be read'],
    ['a billion laughs', 'a: &a [1,1]\nb: &b [*a,*a]\n'.concat('c: [*b]\n'), 2, 'does not hold a manifest'],
  ])('refuses %s', async (_what, text, code, words) => {
    const ran = await validate(text);
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(words)]);
  });

  it('prints the schema that editors read', async () => {
    const { code, stdout } = await run(['schema'], fakeIo());
    expect([code, JSON.parse(stdout)]).toEqual([0, manifestJsonSchema()]);
    expect((await run(['schema', 'cluster-template'], fakeIo())).stdout).toContain('ClusterTemplate');
  });
});
