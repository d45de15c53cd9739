import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const PATH = '/ns/default/cluster-templates/small';
const TYPE = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'ClusterTemplate' };
const cluster = { version: 'v1.34.4', pools: { machineType: 'lab.medium' } };
const spec = { description: 'For trials', deprecated: false, cluster };
const view = {
  ...TYPE,
  metadata: { name: 'small', namespace: 'default', resourceVersion: '7', creationTimestamp: '2026-11-26T02:00:00Z' },
  spec,
  status: { revision: 7, clusters: ['blog', 'shop'] },
};

let gateway: FakeGateway;
let folder: string;

beforeEach(async () => {
  gateway = new FakeGateway();
  folder = newFolder('template');
  await gateway.start();
});
afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const fairlead = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, ...args]);
const fileOf = (manifest: object): string => {
  const file = join(folder, 'template.json');
  writeFileSync(file, JSON.stringify(manifest));
  return file;
};
const sent = (at: number) => gateway.asked('PUT', PATH)[at] as { body: typeof view; query: Record<string, string> };

describe('fairlead template', () => {
  it('lists templates with how many clusters have each, and describes one with its values and its clusters', async () => {
    gateway.on('GET', '/ns/default/cluster-templates', { body: { kind: 'ClusterTemplateList', items: [view] } });
    gateway.on('GET', PATH, { body: view });
    expect((await fairlead('template', 'list')).stdout).toMatch(/small +v1\.34\.4 +no +2 +For trials/);
    expect((await fairlead('template', 'describe', 'small')).stdout.split('\n')).toEqual([
      'Template:    default/small',
      'For:         For trials',
      'Deprecated:  no',
      'Revision:    7',
      'Clusters:    blog, shop',
      'Values:',
      '  version: v1.34.4',
      '  pools.machineType: lab.medium',
      '',
    ]);
  });

  it('exports what can be applied again', async () => {
    gateway.on('GET', PATH, { body: view });
    const { stdout } = await fairlead('template', 'export', 'small');
    expect(parse(stdout)).toEqual({ ...TYPE, metadata: { name: 'small', namespace: 'default' }, spec });
  });

  it('deprecates what it has read, and only that', async () => {
    gateway.on('GET', PATH, { body: view });
    gateway.on('PUT', PATH, { body: { ...view, spec: { ...spec, deprecated: true } } });
    const { code, stdout } = await fairlead('template', 'deprecate', 'small');
    expect([code, stdout]).toEqual([0, 'The template small is deprecated.\n']);
    expect([sent(0).body.metadata.resourceVersion, sent(0).body.spec.deprecated]).toEqual(['7', true]);
  });

  it('delete says which clusters have it', async () => {
    const words = 'Template small cannot be deleted: blog, shop have it';
    gateway.on('DELETE', PATH, refusal(409, 'template.in-use', words));
    const { code, stderr } = await fairlead('template', 'delete', 'small', '--yes');
    expect([code, stderr]).toEqual([6, expect.stringContaining(words)]);
  });
});

describe('fairlead apply and diff of a template', () => {
  const changed = { ...TYPE, metadata: { name: 'small' }, spec: { ...spec, description: 'For more trials' } };

  it('show the fields that differ, and apply exactly what was shown', async () => {
    gateway.on('GET', PATH, { body: view });
    gateway.on('PUT', PATH, ({ body }) => ({ body: { ...view, ...(body as object), metadata: view.metadata } }));
    const file = fileOf(changed);
    const diff = await fairlead('diff', '-f', file);
    expect([diff.code, diff.stdout]).toEqual([1, '~ description: For trials → For more trials\n']);
    const applied = await fairlead('apply', '-f', file, '--yes');
    expect([applied.code, applied.stdout]).toEqual([0, 'template/small configured\n']);
    expect(applied.stderr).toContain('~ description: For trials → For more trials');
    const [last] = gateway.asked('PUT', PATH).slice(-1);
    expect([last?.query, (last?.body as typeof view).metadata.resourceVersion]).toEqual([{}, '7']);
    const again = await fairlead('apply', '-f', fileOf(view), '--yes');
    expect(again.stdout).toBe('template/small unchanged\n');
  });

  it('create one only if there is none', async () => {
    gateway.on('GET', PATH, refusal(404, 'template.unknown', 'there is none'));
    gateway.on('PUT', PATH, ({ body }) => ({ body: { ...view, ...(body as object), metadata: view.metadata } }));
    const dry = await fairlead('apply', '-f', fileOf(changed), '--dry-run');
    expect(dry.stdout).toMatch(
      /^Changes of template default\/small:\n[^]+\ntemplate\/small created \(dry run: nothing is changed\)\n$/,
    );
    expect(dry.stderr).toBe('');
    expect(gateway.asked('PUT', PATH)).toHaveLength(1);
    await fairlead('apply', '-f', fileOf(changed), '--yes');
    expect(sent(2).body.metadata.resourceVersion).toBe('');
  });
});
