import type { ClusterChanges, ConnectionView, CreatedTokenView, FleetCauses } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { TestSshd } from '../libs/service-kit/src/ssh/sshd.fixtures.js';
import { findChromium, launchChromium } from './system/chromium.js';
import { PageReader } from './system/page.reader.js';
import { startSystem, type System } from './system/system.js';

const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
const TIMEOUT_MS = 420_000;
const SEEN_MS = 20_000;
const PICTURES = join(CHECKOUT, 'docs', 'pictures');
const areKept = process.env['FAIRLEAD_PICTURES'] === 'yes';
/** Those in docs/page.md. */
const IN_DOCS: ReadonlySet<string> = new Set([
  ...['fleet-light', 'cluster-light', 'cluster-dark', 'operation-light', 'operation-dark'],
  ...['difference-light', 'edit-light', 'audit-light'],
]);
const machines = { connection: 'lab', machineType: 'lab.medium' };
const manifest = (name: string, web: number, hooks: readonly object[] = []): object => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name },
  spec: {
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: web, ...machines }],
    ...(hooks.length === 0 ? {} : { hooks }),
  },
});

interface HTMLElementSize {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}

const chromium = await findChromium();
if ('reason' in chromium) process.stderr.write(`\n!!! NOT CHECKED in a browser: ${chromium.reason}\n\n`);
const inBrowser = 'reason' in chromium ? describe.skip : describe;

inBrowser("the views of the operator's page", () => {
  let system: System;
  let browser: Browser;
  let reader: PageReader;
  let page: Page;
  /** Requests more time until it consents. */
  let hook: Server;
  const of = 'clusters/default/shop';
  const shop = '/ns/default/clusters/shop';

  const open = async (place: string, at: Page = page): Promise<void> => {
    await at.goto(`${system.server}/#/${place}`);
    await at.locator('main h1').first().waitFor();
    await eventually(async () => (await at.getByText(/^Loading/).count()) === 0, { withinMs: SEEN_MS });
  };
  const apply = async (name: string, document: object): Promise<void> => {
    const { status } = await system.call('PUT', `/ns/default/clusters/${name}/manifest`, document);
    expect([200, 201, 202]).toContain(status);
  };
  const until = (name: string, type: string) => system.until(name, (event) => event.type === type, TIMEOUT_MS);
  const workers = async (): Promise<readonly string[]> =>
    (await system.events('shop')).flatMap((event) => (event.type === 'WorkerJoined' ? [event.data.node] : []));

  beforeAll(async () => {
    execFileSync(process.execPath, [join(CHECKOUT, 'tools/page.mjs'), '--if-changed'], { cwd: CHECKOUT });
    if ('reason' in chromium) return;
    hook = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.end(JSON.stringify({ status: 'Failure', message: 'shop/api has one replica' })));
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    const env = { HOOK_ADDRESSES_ALLOWED: '127.0.0.0/8', HOOK_RETRY_MIN_MS: '500' };
    [system, browser] = await Promise.all([startSystem({ light: true, env }), launchChromium(chromium)]);
    reader = new PageReader(system, browser);
    page = await reader.signedIn(system.token);
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
    const hooks = [{ name: 'capacity', url, points: ['BeforeNodeDrain'] }];
    await apply('shop', manifest('shop', 2, hooks));
    await until('shop', 'ClusterReady');
    await apply('shop', manifest('shop', 3, hooks));
    await eventually(async () => (await workers()).length === 3, { withinMs: TIMEOUT_MS });
  }, TIMEOUT_MS);
  afterAll(async () => {
    hook?.closeAllConnections();
    hook?.close();
    await browser?.close();
    await system?.stop();
  }, TIMEOUT_MS);

  it(
    'show the history of a node, each mark of which is an event',
    async () => {
      const [node = ''] = await workers();
      await open(`${of}/nodes`);
      await page.getByRole('link', { name: node }).click();
      await page.getByRole('heading', { name: node }).waitFor();
      await page.locator('.totals li').filter({ hasText: 'joins' }).waitFor();
      const about = (await system.events('shop')).filter(
        ({ type, data }) => type === 'NodeReady' && 'node' in data && data.node === node,
      );
      expect(await page.getByRole('link', { name: String(about[0]!.meta.seq), exact: true }).count()).toBe(1);
    },
    TIMEOUT_MS,
  );

  it(
    'show the difference between two times like the API, with the causing events',
    async () => {
      const events = await system.events('shop');
      const ready = events.find(({ type }) => type === 'ClusterReady')!.meta.time;
      const last = events.at(-1)!.meta.time;
      const query = `from=${encodeURIComponent(ready)}&to=${encodeURIComponent(last)}`;
      const { body } = await system.call<ClusterChanges>('GET', `${shop}/changes?${query}`);
      await open(`${of}/changes?${query}`);
      const replicas = page.locator('.difference li').filter({ hasText: 'pools[web].replicas' });
      await replicas.first().waitFor();
      expect(await replicas.locator('del').textContent()).toBe('2');
      expect(await replicas.locator('ins').textContent()).toBe('3');
      const fields = body.items.flatMap((item) => item.fields);
      expect(await page.locator('.difference li').count()).toBe(fields.length);
    },
    TIMEOUT_MS,
  );

  it(
    'take an etcd snapshot, and report that it was verified by a restore',
    async () => {
      await open(`${of}/snapshots`);
      await page.getByRole('button', { name: 'Take a snapshot …' }).click();
      await page.getByRole('button', { name: 'Take it' }).click();
      await page.getByRole('button', { name: /^Verify / }).click({ timeout: TIMEOUT_MS / 2 });
      await page.getByRole('button', { name: 'Verify', exact: true }).click();
      await page
        .getByRole('table')
        .getByText('verified', { exact: true })
        .waitFor({ timeout: TIMEOUT_MS / 2 });
    },
    TIMEOUT_MS,
  );

  it(
    'show what a hook blocks, and skip it with a reason',
    async () => {
      const [, , node = ''] = await workers();
      expect((await system.call('DELETE', `${shop}/nodes/${node}`)).status).toBe(202);
      await until('shop', 'HookFailed');
      await open(`${of}/hooks`);
      await page.getByText('failed', { exact: true }).first().waitFor();
      await page.getByRole('button', { name: 'Skip capacity at BeforeNodeDrain' }).click();
      await page.getByLabel('Reason, for the log').fill('the api has two replicas by now');
      await page.getByRole('button', { name: 'Go on', exact: true }).click();
      await until('shop', 'HookSkipped');
      await until('shop', 'NodeRemoved');
      await page.getByText('skipped', { exact: true }).first().waitFor();
      await open(`${of}/nodes/${node}`);
      await page.getByText('gone', { exact: true }).first().waitFor();
    },
    TIMEOUT_MS,
  );

  it(
    'show each check of each host of an inventory, and why a host is kept out',
    async () => {
      const sshd = await TestSshd.start({}, '127.0.0.61');
      try {
        const { host, port, privateKey } = sshd.address;
        const hosts = [
          { name: 'rack-1', address: host, port },
          { name: 'rack-2', address: '127.0.0.62', port: 9 },
        ];
        const settings = { hosts, secret: privateKey };
        expect((await system.call('PUT', '/connections/rack', { provider: 'ssh', settings })).status).toBe(200);
        const inspected = async () => (await system.call<ConnectionView>('GET', '/connections/rack')).body.hosts ?? [];
        await eventually(async () => (await inspected())[1]?.checks.ssh !== undefined, { withinMs: TIMEOUT_MS / 4 });
        const [first, second] = await inspected();
        await open('connections/rack');
        const cellsOf = (name: string) =>
          page.getByRole('region', { name: 'Hosts' }).getByRole('row').filter({ hasText: name }).locator('td');
        const words = (found: string | undefined) =>
          found === undefined ? 'not checked' : found ? 'failed' : 'passed';
        for (const shown of [first!, second!]) {
          const cells = await cellsOf(shown.name).allTextContents();
          const { ssh, hostKey, root, clock, disk, system: kernel, address, clean } = shown.checks;
          const expected = [ssh, hostKey, root, clock, disk, kernel, address, clean].map(words);
          expect(cells.slice(2, 10).map((text) => text.replace(', first-seen', ''))).toEqual(expected);
          expect(cells[10]).toContain(shown.problem);
        }
        expect([first?.checks.ssh, first?.checks.hostKey, first?.checks.root]).toEqual(['', '', '']);
        expect(second?.checks).toEqual({ ssh: second?.problem });
        await cellsOf('rack-1').getByText('passed, first-seen').waitFor();
        await page.getByTitle(second!.problem).first().waitFor();
      } finally {
        await sshd.stop();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'compare an operation with the earlier ones of this installation, by cause',
    async () => {
      await apply('other', manifest('other', 1));
      await until('other', 'ClusterReady');
      const { body: list } = await system.call<{ items: { id: string; kind: string }[] }>('GET', `${shop}/operations`);
      const { body: causes } = await system.call<FleetCauses>('GET', '/fleet/causes?operation=create');
      expect([causes.operations, causes.items.map(({ cause }) => cause)]).toEqual([
        2,
        expect.arrayContaining(['machine', 'install', 'verify']),
      ]);
      await open(`${of}/operations/${list.items.find(({ kind }) => kind === 'create')!.id}`);
      await page.getByText('usually', { exact: true }).waitFor();
      await page.getByTitle(/^software is installed, usually/).waitFor();
      await page
        .getByText(/usually .* for each node/)
        .first()
        .waitFor();
      await page
        .getByRole('button', { name: /^install, .*; usually .* here/ })
        .first()
        .click();
      await page
        .getByRole('status')
        .getByText(/\(usually .* here/)
        .waitFor();
      const [longest] = causes.items.toSorted((one, other) => other.medianMs - one.medianMs);
      process.stdout.write(`page: usual times of ${causes.items.length} causes; longest ${longest?.cause}\n`);
    },
    TIMEOUT_MS,
  );

  it(
    'are found by the palette, sort and filter by their address, and give exact times on hover',
    async () => {
      await open('');
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('A cluster, a view, a command …').fill('Connections');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Connections' }).waitFor();
      await open('?sort=name&order=descending&search=o');
      const names = async () => (await page.getByRole('row').getByRole('link').allTextContents()).join(' ');
      await eventually(async () => /shop[^]*other/.test(await names()), { withinMs: SEEN_MS });
      await open('?search=other');
      await eventually(async () => !(await names()).includes('shop'), { withinMs: SEEN_MS });
      await open(`${of}/operations`);
      expect(await page.locator('main time').first().getAttribute('title')).toMatch(/UTC/);
    },
    TIMEOUT_MS,
  );

  it(
    'fit a phone: no view is wider than the screen',
    async () => {
      await page.setViewportSize({ width: 390, height: 844 });
      const wide: string[] = [];
      for (const [, place] of await places()) {
        await open(place);
        const beyond = await page.evaluate(() => {
          const { documentElement } = (globalThis as unknown as { document: { documentElement: HTMLElementSize } })
            .document;
          return documentElement.scrollWidth - documentElement.clientWidth;
        });
        if (beyond > 1) wide.push(`${place}: ${beyond} px`);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
      expect(wide).toEqual([]);
    },
    TIMEOUT_MS,
  );

  const places = async (): Promise<readonly (readonly [picture: string, place: string])[]> => {
    const { body } = await system.call<{ items: { id: string }[] }>('GET', `${shop}/operations`);
    const [node = ''] = await workers();
    const events = await system.events('shop');
    const removed = events.find(({ type }) => type === 'NodeRemoved')!.meta.seq;
    const from = events.find(({ type }) => type === 'VmsCreated')!.meta.time;
    const to = events.at(-1)!.meta.time;
    return [
      ['fleet', ''],
      ['cluster', of],
      ['nodes', `${of}/nodes`],
      ['node', `${of}/nodes/${node}`],
      ['operation', `${of}/operations/${body.items[0]!.id}`],
      ['difference', `${of}/changes?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`],
      ['snapshots', `${of}/snapshots`],
      ['hooks', `${of}/hooks`],
      ['audit', `${of}/audit?event=${removed}`],
      ['upgrade', `${of}/upgrade`],
      ['edit', `${of}/edit`],
      ['connections', 'connections/rack'],
    ];
  };

  it(
    'have no serious accessibility violation, with screenshots in light and dark',
    async () => {
      const found: string[] = [];
      if (areKept) mkdirSync(PICTURES, { recursive: true });
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        for (const [picture, place] of await places()) {
          await open(place);
          if (picture === 'edit') await page.getByText(/^judged by the gateway|^left to the gateway/).waitFor();
          const bytes = await page.screenshot();
          expect([picture, bytes.length > 10_000]).toEqual([picture, true]);
          const name = `${picture}-${scheme}`;
          if (areKept && IN_DOCS.has(name)) writeFileSync(join(PICTURES, `${name}.png`), bytes);
          found.push(...(await reader.seriousFaults(page)).map((fault) => `${scheme} ${place}: ${fault}`));
        }
      }
      await page.emulateMedia({ colorScheme: 'light' });
      expect(found).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'offer a viewer no action that would be refused',
    async () => {
      const roles = [{ namespace: 'default', role: 'viewer' }];
      const { body } = await system.call<CreatedTokenView>('POST', '/tokens', { name: 'viewer', roles });
      const theirs = await reader.signedIn(body.token);
      const refused: string[] = [];
      theirs.on('response', (response) => {
        if (response.status() === 403) refused.push(response.url());
      });
      for (const [, place] of await places()) {
        await open(place, theirs);
        const offered = (await theirs.getByRole('button').allTextContents()).filter((text) =>
          /^(Take a snapshot …|Verify|Restore|Skip|Override …|Apply|Replace|Remove|Delete …|Pause …|Look again)$/.test(
            text,
          ),
        );
        expect([place, offered]).toEqual([place, []]);
      }
      expect(refused).toEqual([]);
      await theirs.context().close();
    },
    TIMEOUT_MS,
  );

  it('violate no policy and throw no error', () => expect(reader.complaints).toEqual([]));
});
