import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { FakeGateway, refusal, type Received } from '../spec/gateway.fixtures.js';
import { STORY, upgradeView } from '../upgrade/upgrade.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';

const PATH = '/ns/default/clusters/demo/manifest';
const machines = {
  connection: 'lab',
  machineType: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
};

const manifestOf = (replicas: number) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default', uid: 'u', resourceVersion: '12' },
  spec: {
    version: 'v1.34.4',
    serviceType: 'single',
    loadBalancer: 'haproxy',
    network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
    controlPlane: { replicas: 1, ...machines, etcd: 'local', schedulable: false },
    pools: [{ name: 'web', replicas, ...machines }],
  },
});

interface Sent {
  readonly spec: ReturnType<typeof manifestOf>['spec'] & { readonly replicas?: number };
  readonly metadata: Readonly<Record<string, unknown>>;
}

let gateway: FakeGateway;
let folder: string;

/** Plans like the gateway for a cluster with two nodes of web. */
const change = ({ body, query }: Received) => {
  const { spec, metadata: sent } = body as Sent;
  const { labels } = sent;
  const metadata = { ...manifestOf(2).metadata, ...(labels === undefined ? {} : { labels }) };
  const replicas = spec.pools[0]?.replicas ?? 0;
  const reason = `add ${replicas - 2} machines (2 → ${replicas})`;
  const plan = replicas === 2 ? [] : [{ action: 'add-nodes', pool: 'web', count: replicas - 2, nodes: [], reason }];
  return {
    status: query['dryRun'] === 'All' ? 200 : 202,
    headers: { 'x-fairlead-seq': '14' },
    body: { ...manifestOf(2), metadata, spec, plan, operations: query['dryRun'] === 'All' ? [] : ['op-13'] },
  };
};

/** The same for another version of the cluster; empty: it does not exist yet. */
const plannedAt = (resourceVersion: string, received: Received) => {
  const { body, ...answer } = change(received);
  return { ...answer, body: { ...body, metadata: { ...body.metadata, resourceVersion } } };
};

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  gateway.on('GET', PATH, {
    body: {
      ...manifestOf(2),
      status: {
        phase: 'Provisioned',
        pools: [
          { name: 'web', replicas: 2, readyReplicas: 1, availableReplicas: 0, updatedReplicas: 2, phase: 'ScalingUp' },
        ],
      },
    },
  });
  gateway.on('PUT', PATH, change);
  folder = newFolder('manifest');
});
afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);
const applyIo = (replicas: number, answer?: string): FakeIo =>
  fakeIo({
    stdin: JSON.stringify({ ...manifestOf(replicas), metadata: { name: 'demo' } }),
    ...(answer === undefined ? {} : { answer }),
  });
/** The requests without dry runs. */
const changes = (): readonly Sent[] =>
  gateway.asked('PUT', PATH).flatMap(({ query, body }) => (query['dryRun'] === undefined ? [body as Sent] : []));

describe('fairlead apply', () => {
  it('prints the diff and the plan, asks, and applies what was displayed', async () => {
    const { code, stdout, stderr } = await ask(['apply', '-f', '-', '--no-wait'], applyIo(4, 'y'));
    expect([code, stdout]).toEqual([0, 'cluster/demo configured\n']);
    expect(stderr).toContain('~ pools[web].replicas: 2 → 4');
    expect(stderr).toContain('+ pool web: add 2 machines (2 → 4)');
    expect(stderr).toContain('Apply this? [y/N]');
    expect(changes().map(({ metadata }) => metadata)).toEqual([{ name: 'demo', resourceVersion: '12' }]);
  });

  it('changes nothing without a yes, or without a terminal', async () => {
    const no = await ask(['apply', '-f', '-'], applyIo(4, 'n'));
    expect([no.code, no.stderr]).toEqual([1, expect.stringContaining('nothing was changed')]);
    const noTerminal = await ask(['apply', '-f', '-'], applyIo(4));
    expect([noTerminal.code, noTerminal.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(changes()).toEqual([]);
  });

  it('displays and applies a change of labels alone, like diff', async () => {
    const labelled = (): FakeIo =>
      fakeIo({ stdin: JSON.stringify({ ...manifestOf(2), metadata: { name: 'demo', labels: { team: 'a' } } }) });
    const difference = await ask(['diff', '-f', '-'], labelled());
    expect([difference.code, difference.stdout]).toEqual([1, '+ metadata.labels.team: a\n']);
    const applied = await ask(['apply', '-f', '-', '--yes', '--no-wait'], labelled());
    expect([applied.code, applied.stdout]).toEqual([0, 'cluster/demo configured\n']);
    expect(changes().map(({ metadata }) => metadata['labels'])).toEqual([{ team: 'a' }]);
  });

  it('does not ask if nothing differs, and changes nothing in a dry run', async () => {
    const same = await ask(['apply', '-f', '-'], applyIo(2));
    expect([same.code, same.stdout, same.stderr]).toEqual([0, 'cluster/demo unchanged\n', '']);
    const dry = await ask(['apply', '-f', '-', '--dry-run'], applyIo(3));
    expect([dry.code, dry.stderr, dry.stdout.trimEnd().split('\n')]).toEqual([
      0,
      '',
      [
        'Changes of default/demo:',
        '  ~ pools[web].replicas: 2 → 3',
        'Plan:',
        '  + pool web: add 1 machines (2 → 3)',
        'cluster/demo configured (dry run: nothing is changed)',
      ],
    ]);
    expect(changes()).toEqual([]);
  });

  it('states how a failed creation continues if nothing differs', async () => {
    gateway.on('GET', PATH, { body: { ...manifestOf(2), status: { phase: 'Failed', pools: [] } } });
    const same = await ask(['apply', '-f', '-'], applyIo(2));
    expect([same.code, same.stdout]).toEqual([0, 'cluster/demo unchanged\n']);
    expect(same.stderr).toBe(
      'Its creation has failed. "fairlead cluster retry demo" continues it as it is declared.\n',
    );
  });

  it('creates a cluster only if it does not exist and was not created in the meantime', async () => {
    gateway.on('GET', PATH, refusal(404, 'cluster.unknown', 'There is none'));
    gateway.on('PUT', PATH, (received) => plannedAt('', received));
    const { code, stdout, stderr } = await ask(['apply', '-f', '-', '--yes', '--no-wait'], applyIo(3));
    expect([code, stdout]).toEqual([0, 'cluster/demo created\n']);
    expect(stderr).toContain('+ pools[web].replicas: 3');
    expect(changes().map(({ metadata }) => metadata)).toEqual([{ name: 'demo', resourceVersion: '' }]);
  });

  it('prints the diff and the plan for one version of the cluster, despite concurrent changes', async () => {
    let version = 12;
    gateway.on('GET', PATH, () => {
      const { metadata, ...read } = manifestOf(version === 12 ? 1 : 2);
      return { body: { ...read, metadata: { ...metadata, resourceVersion: String(version) } } };
    });
    gateway.on('PUT', PATH, (received) => {
      version = 13; // Another user has scaled it between the two requests.
      return plannedAt('13', received);
    });
    const { code, stderr } = await ask(['apply', '-f', '-', '--yes', '--no-wait'], applyIo(4));
    expect([code, stderr.includes('~ pools[web].replicas: 2 → 4'), stderr.includes('1 → 4')]).toEqual([0, true, false]);
    expect(changes().map(({ metadata }) => metadata['resourceVersion'])).toEqual(['13']);
    gateway.on('PUT', PATH, (received) => plannedAt(String(++version), received));
    const restless = await ask(['apply', '-f', '-', '--yes', '--no-wait'], applyIo(4));
    expect([restless.code, restless.stderr]).toEqual([
      6,
      expect.stringContaining('kept changing while the change was planned'),
    ]);
    expect(changes()).toHaveLength(1);
  });

  it.each([
    ['', 'is empty'],
    ['{', 'is not YAML'],
    ['kind: Cluster', 'does not hold a manifest'],
    ['kind: Deployment\nmetadata: {name: a}', 'Standard input holds an object of kind "Deployment"'],
    ['metadata: {name: a}\n---\nkind: Cluster', 'Document 2 of Standard input does not hold a manifest'],
    [Array.from({ length: 101 }, () => 'metadata: {name: a}').join('\n---\n'), 'holds 101 documents'],
  ])('reports the fault in a file with %j', async (stdin, sentence) => {
    const { code, stderr } = await ask(['apply', '-f', '-'], fakeIo({ stdin }));
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
  });

  it.each([['apply'], ['diff'], ['delete']])(
    'is refused with another namespace than the manifest: %s',
    async (command) => {
      const { metadata, ...rest } = manifestOf(2);
      const io = fakeIo({ stdin: JSON.stringify({ ...rest, metadata: { ...metadata, namespace: 'prod' } }) });
      const { code, stderr } = await ask([command, '-f', '-', '-n', 'staging'], io);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('Standard input is of namespace prod, not of staging'),
      ]);
      expect(changes()).toEqual([]);
    },
  );

  it('processes the manifests of a file in order, and skips empty documents', async () => {
    const document = JSON.stringify({ ...manifestOf(2), metadata: { name: 'demo' } });
    const apply = (text: string) => ask(['apply', '-f', '-'], fakeIo({ stdin: text }));
    expect((await apply(`---\n# nothing yet\n---\n${document}\n---\n`)).stdout).toBe('cluster/demo unchanged\n');
    const two = await apply(`${document}\n---\n${document}\n`);
    expect([two.code, two.stdout]).toEqual([0, 'cluster/demo unchanged\ncluster/demo unchanged\n']);
    const none = await apply('---\n# nothing yet\n');
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('Standard input is empty')]);
  });

  describe('with several documents', () => {
    const document = (name: string, replicas = 2): string =>
      JSON.stringify({ ...manifestOf(replicas), metadata: { name } });
    const other = '/ns/default/clusters/other/manifest';
    const carryOut = (command: readonly string[], ...documents: readonly string[]) =>
      ask(command, fakeIo({ stdin: documents.join('\n---\n') }));

    it('stops at the first refusal, and prints the results before it', async () => {
      gateway.on('GET', other, refusal(404, 'cluster.unknown', 'Cluster other does not exist'));
      gateway.on('PUT', other, refusal(422, 'connection.unknown', 'Connection lab does not exist'));
      const apply = ['apply', '-f', '-', '--yes', '--no-wait'];
      const failed = await carryOut(apply, document('demo', 3), document('other'), document('demo', 4));
      expect([failed.code, failed.stdout]).toEqual([7, '']);
      expect(failed.stderr).toContain(
        'Cluster other (document 2 of Standard input) failed. Done before: cluster/demo configured',
      );
      expect(failed.stderr).toContain('Connection lab does not exist');
      expect(changes().map(({ spec }) => spec.pools[0]?.replicas)).toEqual([3]);
    });

    it('returns one list, and differs if one of them does', async () => {
      const { code, stdout } = await carryOut(
        ['diff', '-f', '-', '--output', 'json'],
        document('demo', 3),
        document('demo'),
      );
      expect([code, (JSON.parse(stdout) as readonly unknown[]).length]).toEqual([1, 2]);
    });

    describe('of which one is the template of a cluster', () => {
      const template = (name: string) => ({ kind: 'ClusterTemplate', metadata: { name }, spec: { cluster: {} } });
      const ofTemplate = JSON.stringify({ kind: 'Cluster', metadata: { name: 'other' }, spec: { template: 'small' } });
      const templates = '/ns/default/cluster-templates';

      beforeEach(() => {
        gateway.on('GET', `${templates}/small`, refusal(404, 'template.unknown', 'There is none'));
        gateway.on('PUT', `${templates}/small`, {
          body: { ...template('small'), spec: { description: 'For trials' } },
        });
        gateway.on('GET', other, refusal(404, 'cluster.unknown', 'There is none'));
        gateway.on('PUT', other, refusal(422, 'template.not-found', 'The manifest names the template small'));
        gateway.on('PUT', `${templates}/large`, { body: template('large') });
        gateway.on('GET', `${templates}/large`, { body: template('large') });
      });

      it('differs, even if the changes of the cluster are known only after its new template is applied', async () => {
        const documents = [ofTemplate, JSON.stringify(template('small')), document('demo')];
        const differs = await carryOut(['diff', '-f', '-'], ...documents);
        expect([differs.code, differs.stdout.split('\n')]).toEqual([
          1,
          [
            'ClusterTemplate small (document 2 of Standard input):',
            '  + description: For trials',
            'Cluster other (document 1 of Standard input):',
            '  Its template small does not exist yet; apply that to see what differs of the cluster.',
            '',
          ],
        ]);
        const refused = await carryOut(['diff', '-f', '-'], ofTemplate, JSON.stringify(template('large')));
        expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining('names the template small')]);
      });

      it('is planned in a dry run, except for the cluster with a new template', async () => {
        const dryRun = ['apply', '-f', '-', '--dry-run'];
        const documents = [ofTemplate, JSON.stringify(template('small')), document('demo', 3)];
        const planned = await carryOut(dryRun, ...documents);
        expect([planned.code, planned.stdout.split('\n')]).toEqual([
          0,
          [
            'Changes of template default/small:',
            '  + description: For trials',
            'template/small created (dry run: nothing is changed)',
            'cluster/other not planned (dry run: its template small does not exist yet)',
            'Changes of default/demo:',
            '  ~ pools[web].replicas: 2 → 3',
            'Plan:',
            '  + pool web: add 1 machines (2 → 3)',
            'cluster/demo configured (dry run: nothing is changed)',
            '',
          ],
        ]);
        const refused = await carryOut(dryRun, ofTemplate, JSON.stringify(template('large')));
        expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining('names the template small')]);
        expect(changes()).toEqual([]);
      });
    });

    it('refuses an idempotency key, which identifies a single request', async () => {
      const apply = ['apply', '-f', '-', '--yes', '--idempotency-key', 'k'];
      const { code, stderr } = await carryOut(apply, document('demo', 3), document('demo', 4));
      expect([code, stderr]).toEqual([2, expect.stringContaining('--idempotency-key is for one document')]);
      expect(changes()).toEqual([]);
    });
  });

  describe('of a folder', () => {
    const write = (path: string, ...documents: readonly object[]): void => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), documents.map((one) => JSON.stringify(one)).join('\n---\n'));
    };
    const cluster = (name: string, replicas = 3) => ({ ...manifestOf(replicas), metadata: { name } });
    const inFolder = (...args: readonly string[]) => ask(args, fakeIo({ cwd: folder }));
    const DRY = ['--dry-run', '--output', 'name'] as const;

    beforeEach(() => {
      for (const name of ['a', 'b', 'c', 'd']) {
        gateway.on('GET', `/ns/default/clusters/${name}/manifest`, refusal(404, 'cluster.unknown', 'There is none'));
        gateway.on('PUT', `/ns/default/clusters/${name}/manifest`, (received) => plannedAt('', received));
      }
      write('one/c.json', cluster('c'));
      write('one/b.yaml', cluster('b'), cluster('d'));
      write('one/notes.txt', cluster('demo'));
      write('one/empty.yaml');
      write('one/below/a.yml', cluster('a'));
    });

    it('processes its manifests by name, and with -R those of its subfolders', async () => {
      const flat = await inFolder('apply', '-f', 'one', ...DRY);
      expect([flat.code, flat.stdout]).toEqual([0, 'b\nd\nc\n']);
      expect((await inFolder('apply', '-R', '-f', 'one', ...DRY)).stdout).toBe('b\nd\na\nc\n');
    });

    it('is one of several', async () => {
      write('more/a.yaml', cluster('a'));
      expect((await inFolder('apply', '-f', 'more', '-f', 'one/c.json', ...DRY)).stdout).toBe('a\nc\n');
      const twice = await inFolder('apply', '-f', '-', '-f', '-', ...DRY);
      expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('read only once')]);
    });

    it('has its templates applied first, and deleted last', async () => {
      const template = '/ns/default/cluster-templates/small';
      for (const name of ['b', 'd', 'c'])
        gateway.on('DELETE', `/ns/default/clusters/${name}`, {
          status: 202,
          headers: { 'x-fairlead-seq': '14' },
          body: {},
        });
      gateway.on('DELETE', template, { body: { kind: 'Status', code: 200 } });
      write('one/z.yaml', { kind: 'ClusterTemplate', metadata: { name: 'small' }, spec: {} });
      const { code } = await inFolder('delete', '-f', 'one', '--yes');
      const deleted = gateway.received.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
      expect([code, deleted.map((path) => path.split('/').at(-1))]).toEqual([0, ['c', 'd', 'b', 'small']]);
    });

    it('names the file and the document with the fault before anything is sent', async () => {
      write('one/d.yaml', cluster('d'), { kind: 'Cluster' });
      const { code, stderr } = await inFolder('apply', '-f', 'one', '--yes');
      expect([code, stderr]).toEqual([2, expect.stringContaining('Document 2 of one/d.yaml does not hold a manifest')]);
      expect(gateway.received).toEqual([]);
    });

    it('names the refused object, and prints differences below the object that has them', async () => {
      gateway.on('PUT', '/ns/default/clusters/d/manifest', refusal(422, 'connection.unknown', 'No connection lab'));
      const failed = await inFolder('apply', '-f', 'one', '--yes', '--no-wait');
      expect([failed.code, failed.stderr]).toEqual([
        7,
        expect.stringContaining('Cluster d (document 2 of one/b.yaml)'),
      ]);
      write('two/b.yaml', cluster('b', 2));
      write('two/demo.yaml', cluster('demo'));
      const { stdout } = await inFolder('diff', '-f', 'two');
      expect(stdout).toContain('Cluster demo (two/demo.yaml):\n  ~ pools[web].replicas: 2 → 3\n');
    });

    it('must contain a manifest', async () => {
      write('none/notes.txt');
      write('none/below/a.yaml', cluster('a'));
      const none = await inFolder('apply', '-f', 'none');
      expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/no manifest in none[^]*-R reads/)]);
      write('empty/a.yaml');
      const empty = await inFolder('apply', '-f', 'empty');
      expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('Every file of empty is empty')]);
      const missing = await inFolder('apply', '-f', 'missing');
      expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('missing cannot be read')]);
    });

    it('is deleted as far as its objects exist', async () => {
      gateway.on('DELETE', '/ns/default/clusters/c', refusal(404, 'cluster.unknown', 'There is no cluster c'));
      const refused = await inFolder('delete', '-f', 'one/c.json', '--yes');
      expect(refused.code).toBe(5);
      const ignored = await inFolder('delete', '-f', 'one/c.json', '--yes', '--ignore-not-found');
      expect([ignored.code, ignored.stdout]).toEqual([0, 'c does not exist.\n']);
    });
  });

  it('prints every fault with its field and advice', async () => {
    const field = 'spec.pools[0].machinetype';
    const errors = [
      {
        reason: 'request.unknown-field',
        message: `There is not a field ${field}`,
        field,
        help: 'Did you mean machineType?',
      },
    ];
    gateway.on(
      'PUT',
      PATH,
      refusal(400, 'request.unknown-field', `There is not a field ${field}`, { field, help: errors[0]?.help, errors }),
    );
    const { code, stderr } = await ask(['apply', '-f', '-'], applyIo(3));
    expect([code, stderr]).toEqual([7, expect.stringContaining('Did you mean machineType?')]);
  });
});

describe('fairlead apply with another version', () => {
  const UPGRADES = '/ns/default/clusters/demo/upgrades';
  const asked = (): unknown[] => gateway.asked('POST', UPGRADES).map(({ query, body }) => [query, body]);
  const later = (answer?: string): FakeIo => {
    const { spec } = manifestOf(2);
    const manifest = { ...manifestOf(2), metadata: { name: 'demo' }, spec: { ...spec, version: 'v1.35.4' } };
    return fakeIo({ stdin: JSON.stringify(manifest), ...(answer === undefined ? {} : { answer }) });
  };

  beforeEach(() => {
    gateway.on('PUT', PATH, (received) => {
      const answer = change(received);
      const step = { action: 'upgrade', pool: null, count: 3, nodes: [], reason: 'v1.34.4 → v1.35.4: 3 nodes' };
      return { ...answer, body: { ...answer.body, plan: [step] } };
    });
    gateway.on('POST', UPGRADES, { body: STORY.planned });
  });

  it('prints the effect of the upgrade on each node, with reasons, before it asks', async () => {
    const { code, stdout, stderr } = await ask(['apply', '-f', '-', '--no-wait'], later('y'));
    expect([code, stdout]).toEqual([0, 'cluster/demo configured\n']);
    expect(stderr).toContain('~ cluster: v1.34.4 → v1.35.4: 3 nodes');
    expect(stderr.indexOf('canary: ')).toBeGreaterThan(0);
    expect(stderr.indexOf('canary: ')).toBeLessThan(stderr.indexOf('Apply this? [y/N]'));
    expect(asked()).toEqual([[{ dryRun: 'true' }, { version: 'v1.35.4' }]]);
    expect(changes()).toHaveLength(1);
  });

  it('prints that plan in a dry run, and changes nothing', async () => {
    const { code, stdout } = await ask(['apply', '-f', '-', '--dry-run', '--output', 'json'], later());
    expect([code, JSON.parse(stdout).upgrade.plan]).toEqual([0, STORY.planned.plan]);
    expect(changes()).toEqual([]);
  });

  const rejected = (permanent: { readonly permanent?: true }) => {
    const findings = upgradeView().findings.map((one) => ({ ...one, ...permanent }));
    gateway.on('POST', UPGRADES, { body: upgradeView({ phase: 'Rejected', plan: null, planHash: null, findings }) });
  };

  it('changes nothing if only another request could pass the checks', async () => {
    rejected({ permanent: true });
    const { code, stderr } = await ask(['apply', '-f', '-', '--yes'], later());
    expect([code, stderr]).toEqual([7, expect.stringContaining('would break a rule')]);
    expect(changes()).toEqual([]);
  });

  it('declares the version although the checks fail now, and prints that its upgrade waits', async () => {
    rejected({});
    const { code, stderr } = await ask(['apply', '-f', '-', '--yes', '--no-wait'], later());
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('its upgrade waits until these findings hold no longer'),
    ]);
    expect(changes()).toHaveLength(1);
  });

  it('follows the upgrade until it ends', async () => {
    const operation = { id: 'op-13', seq: 13, kind: 'upgrade' };
    gateway.on('GET', '/ns/default/clusters/demo/operations', { body: { items: [operation] } });
    gateway.on('GET', UPGRADES, { body: { items: [STORY.completed] } });
    gateway.on('GET', `${UPGRADES}/${STORY.completed.id}`, { body: STORY.completed });
    const { code, stdout } = await ask(['apply', '-f', '-', '--yes'], later());
    expect([code, stdout]).toEqual([0, 'cluster/demo configured\n']);
    gateway.on('GET', `${UPGRADES}/${STORY.completed.id}`, { body: STORY.halted });
    expect((await ask(['apply', '-f', '-', '--yes'], later())).code).not.toBe(0);
  });
});

describe('fairlead diff', () => {
  it('exits with 1 if the manifest differs, otherwise with 0', async () => {
    const differs = await ask(['diff', '-f', '-'], applyIo(4));
    expect(differs).toEqual({ code: 1, stdout: '~ pools[web].replicas: 2 → 4\n', stderr: '' });
    expect(await ask(['diff', '-f', '-'], applyIo(2))).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(changes()).toEqual([]);
  });
});

describe('fairlead export', () => {
  it('prints a manifest that can be applied', async () => {
    const { code, stdout } = await ask(['export', 'demo']);
    const { metadata: _metadata, ...rest } = manifestOf(2);
    expect([code, parse(stdout)]).toEqual([0, { ...rest, metadata: { name: 'demo', namespace: 'default' } }]);
  });

  it('includes the labels of the cluster', async () => {
    const { metadata, ...rest } = manifestOf(2);
    gateway.on('GET', PATH, { body: { ...rest, metadata: { ...metadata, labels: { team: 'a' } } } });
    const { metadata: written } = parse((await ask(['export', 'demo'])).stdout);
    expect(written).toEqual({ name: 'demo', namespace: 'default', labels: { team: 'a' } });
  });
});

describe('fairlead export of an autoscaled pool', () => {
  it('omits its size, so that applying it reverts nothing [azimuth 30]', async () => {
    const { spec } = manifestOf(3);
    const pools = spec.pools.map((pool) => ({ ...pool, autoscaling: { min: 2, max: 5 } }));
    gateway.on('GET', PATH, { body: { ...manifestOf(3), spec: { ...spec, pools } } });
    const [pool] = parse((await ask(['export', 'demo'])).stdout).spec.pools;
    expect([pool.name, pool.replicas, pool.autoscaling]).toEqual(['web', undefined, { min: 2, max: 5 }]);
  });
});

describe('fairlead edit', () => {
  const editor = (script: string): string => {
    const file = join(folder, 'editor');
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o700);
    return file;
  };
  const edit = (script: string) =>
    ask(['edit', 'demo', '--yes', '--no-wait'], fakeIo({ env: { EDITOR: editor(script) } }));

  it('applies the saved text if the cluster has not changed in the meantime', async () => {
    const { code, stdout } = await edit('sed -i "s/replicas: 2/replicas: 4/" "$1"');
    expect([code, stdout]).toEqual([0, 'cluster/demo configured\n']);
    expect(changes()).toMatchObject([{ metadata: { resourceVersion: '12' }, spec: { pools: [{ replicas: 4 }] } }]);
  });

  it('changes nothing if the text is unchanged, or the editor fails', async () => {
    expect((await edit('true')).stdout).toContain('nothing is changed');
    const failed = await edit('exit 3');
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('it ended with 3')]);
    expect(changes()).toEqual([]);
  });

  it('keeps edits that the server refuses', async () => {
    gateway.on('PUT', PATH, refusal(409, 'cluster.resource-version', 'It has changed'));
    const { code, stderr } = await edit('sed -i "s/replicas: 2/replicas: 4/" "$1"');
    const [, file = ''] = /kept in (\S+)\.\n/.exec(stderr) ?? [];
    expect([code, existsSync(file), readFileSync(file, 'utf8')]).toEqual([
      6,
      true,
      expect.stringContaining('replicas: 4'),
    ]);
    removeFolder(join(file, '..'));
  });
});

describe('fairlead pool', () => {
  it('lists the pools of a cluster with their numbers of Ready nodes', async () => {
    const { stdout } = await ask(['pool', 'get', 'demo']);
    expect(stdout).toMatch(/NAME +STATE +DESIRED +READY +AVAILABLE +UP-TO-DATE +MIN +MAX/);
    expect(stdout).toMatch(/web +ScalingUp +2 +1 +0 +2 +- +- +lab\.medium +lab/);
    await ask(['pool', 'list', 'demo', '--at', '2026-11-21T09:00:00+01:00']);
    expect(gateway.asked('GET', '/ns/default/clusters/demo/manifest').at(-1)?.query).toMatchObject({
      at: '2026-11-21T08:00:00.000Z',
    });
    const none = await ask(['pool', 'get', 'demo', 'none']);
    expect([none.code, none.stderr]).toEqual([5, expect.stringContaining('has no pool none')]);
  });

  it('scales a pool, and removes the named nodes, if the cluster has not changed since it was displayed', async () => {
    const SCALE = '/ns/default/clusters/demo/pools/web/scale';
    const nodes = [{ name: 'demo-w-1', reason: 'named' }];
    const plan = [{ action: 'remove-nodes', pool: 'web', count: 1, nodes, reason: 'remove 1 machine (2 → 1)' }];
    gateway.on('PUT', SCALE, ({ body, query }) => ({
      status: query['dryRun'] === 'All' ? 200 : 202,
      headers: { 'x-fairlead-seq': '14' },
      body: { kind: 'Scale', spec: { replicas: (body as Sent).spec.replicas }, plan, operations: [] },
    }));
    const down = ['pool', 'scale', 'demo', 'web', '--replicas', '1', '--remove', 'demo-w-1'];
    const unattended = await ask(down);
    expect([unattended.code, unattended.stderr]).toEqual([2, expect.stringContaining('Give --yes')]);
    const scaled = await ask([...down, '--yes']);
    expect([scaled.code, scaled.stdout]).toEqual([0, 'cluster/demo configured\n']);
    expect(scaled.stderr).toContain('~ pools[web].replicas: 2 → 1');
    expect(scaled.stderr).toContain('remove demo-w-1: named');
    const spec = { replicas: 1, remove: ['demo-w-1'] };
    expect(gateway.asked('PUT', SCALE).map(({ query, body }) => [query, body])).toEqual([
      [{ dryRun: 'All' }, { spec }],
      [{ dryRun: 'All' }, { spec }],
      [{}, { spec, metadata: { resourceVersion: '12' } }],
    ]);
    gateway.on('PUT', SCALE, refusal(422, 'pool.scale-out-of-bounds', 'Pool web has between 2 and 5 nodes, not 1'));
    expect((await ask(['pool', 'scale', 'demo', 'web', '--replicas', '1'])).stderr).toContain('between 2 and 5');
  });

  it('scales a pool up without a confirmation, and takes --yes all the same', async () => {
    const SCALE = '/ns/default/clusters/demo/pools/web/scale';
    gateway.on('PUT', SCALE, ({ body, query }) => ({
      status: query['dryRun'] === 'All' ? 200 : 202,
      headers: { 'x-fairlead-seq': '14' },
      body: { kind: 'Scale', spec: { replicas: (body as Sent).spec.replicas }, plan: [], operations: [] },
    }));
    expect((await ask(['pool', 'scale', 'demo', 'web', '--replicas', '5'])).code).toBe(0);
    expect((await ask(['pool', 'scale', 'demo', 'web', '--replicas', '5', '--yes'])).code).toBe(0);
  });

  it('creates a pool from options', async () => {
    const options = [
      ...['--min', '2', '--max', '5', '--label', 'tier=web', '--taint', 'dedicated=web:NoSchedule'],
      ...['--zone', 'lab-1a', '--zone', 'lab-1b', '--root-disk-size', '80', '--min-ready', '30s'],
      ...['--strategy', 'OnDelete', '--max-surge', '25%', '--delete-policy', 'Oldest'],
      ...['--remediation', 'replace', '--unhealthy-after', '5m', '--max-unhealthy', '1'],
    ];
    expect((await ask(['pool', 'create', 'demo', 'api', ...options])).code).toBe(0);
    expect(changes()[0]?.spec.pools[1]).toEqual({
      name: 'api',
      ...{ connection: 'lab', machineType: 'lab.medium', autoscaling: { min: 2, max: 5 } },
      ...{ labels: { tier: 'web' }, taints: [{ key: 'dedicated', value: 'web', effect: 'NoSchedule' }] },
      ...{ zones: ['lab-1a', 'lab-1b'], rootDisk: { size: '80' }, minReadySeconds: 30 },
      ...{ rollout: { strategy: 'OnDelete', maxSurge: '25%' }, deletePolicy: 'Oldest' },
      health: { remediation: 'replace', unhealthyAfter: '5m', maxUnhealthy: 1 },
    });
  });

  it.each([
    [['--min', '2'], 'belong together'],
    [['--min', '2', '--max', '3', '--replicas', '2'], 'exclude each other'],
    [['--taint', 'dedicated'], 'key=value:effect'],
    [['--unhealthy-after', 'soon'], 'a duration'],
    [['--timeout', '1m'], 'nothing would be watched'],
  ])('reports the fault in %j', async (options, sentence) => {
    const { code, stderr } = await ask(['pool', 'create', 'demo', 'api', ...options]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
    expect(changes()).toEqual([]);
  });

  it('creates and deletes pools by a change of the current manifest', async () => {
    expect((await ask(['pool', 'create', 'demo', 'gpu', '--replicas', '0', '--machine-type', 'lab.large'])).code).toBe(
      0,
    );
    expect((await ask(['pool', 'delete', 'demo', 'web', '--yes'])).code).toBe(0);
    const sizes = changes().map(({ metadata, spec }) => [
      metadata['resourceVersion'],
      spec.pools.map(({ name, replicas, machineType }) => [name, replicas, machineType]),
    ]);
    expect(sizes).toEqual([
      [
        '12',
        [
          ['web', 2, 'lab.medium'],
          ['gpu', 0, 'lab.large'],
        ],
      ],
      ['12', []],
    ]);
  });
});
