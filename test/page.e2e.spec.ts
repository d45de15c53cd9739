import type { CreatedTokenView, FleetList } from '@fairlead/contracts';
import { startTestIssuer, type TestIssuer } from '@fairlead/lab/testing/issuer';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium } from './system/chromium.js';
import { PageReader } from './system/page.reader.js';
import { startSystem, type System } from './system/system.js';

const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
const BUILT = join(CHECKOUT, 'apps/web/dist/page');
const TIMEOUT_MS = 240_000;
const SEEN_MS = 20_000;
const MANIFEST = `apiVersion: fairlead.dev/v1alpha1
kind: Cluster
metadata:
  name: shop
spec:
  serviceType: single
  controlPlane: { replicas: 1, connection: lab, machineType: lab.medium }
  pools:
    - { name: web, replicas: 1, connection: lab, machineType: lab.medium }
`;

const chromium = await findChromium();
if ('reason' in chromium) process.stderr.write(`\n!!! NOT CHECKED in a browser: ${chromium.reason}\n\n`);
const inBrowser = 'reason' in chromium ? describe.skip : describe;

/** User-visible behaviour is tested in a real browser; results are read from the API and the log. */
inBrowser("the operator's page", () => {
  let system: System;
  let browser: Browser;
  let page: Page;
  let reader: PageReader;
  let issuer: TestIssuer;
  const folder = newFolder('page');
  /** Users sign in at the lab's imitation of Keycloak. */
  const withIssuer = async (server: string): Promise<Readonly<Record<string, string>>> => {
    issuer = await startTestIssuer(server);
    const [caFile, secretFile] = [join(folder, 'ca.pem'), join(folder, 'secret')];
    writeFileSync(caFile, issuer.ca);
    writeFileSync(secretFile, `${issuer.clientSecret}\n`);
    return {
      OIDC_ISSUER: issuer.issuerUrl,
      OIDC_CA_FILE: caFile,
      OIDC_CLIENT_ID: issuer.clientId,
      OIDC_CLIENT_SECRET_FILE: secretFile,
      OIDC_ROLES: '/readers default=viewer',
      OIDC_PAGE_URL: server,
      OIDC_CHECK_SECONDS: '1',
    };
  };
  const signedIn = (token: string): Promise<Page> => reader.signedIn(token);
  const open = async (place: string): Promise<void> => void (await page.goto(`${system.server}/#/${place}`));
  const seen = (text: string | RegExp, within: Page = page): Promise<void> => within.getByText(text).first().waitFor();
  const fleet = async (query: string): Promise<FleetList> =>
    (await system.call<FleetList>('GET', `/fleet${query}`)).body;
  beforeAll(async () => {
    execFileSync(process.execPath, [join(CHECKOUT, 'tools/page.mjs'), '--if-changed'], { cwd: CHECKOUT });
    if ('reason' in chromium) return;
    [system, browser] = await Promise.all([startSystem({ light: true, env: withIssuer }), launchChromium(chromium)]);
    reader = new PageReader(system, browser);
    page = await signedIn(system.token);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser?.close();
    await system?.stop();
    await issuer?.stop();
    removeFolder(folder);
  }, TIMEOUT_MS);

  it('is at most 200 kB of compressed script for its first view', () => {
    const document = readFileSync(join(BUILT, 'index.html'), 'utf8');
    const scripts = readdirSync(join(BUILT, 'assets')).filter(
      (name) => document.includes(name) && name.endsWith('.js'),
    );
    const bytes = scripts.reduce((sum, name) => sum + statSync(join(BUILT, 'assets', `${name}.gz`)).size, 0);
    process.stdout.write(`page: ${Math.round(bytes / 1_000)} kB of script (gzip) for the first view\n`);
    expect([scripts.length > 0, bytes < 200_000]).toEqual([true, true]);
  });

  it(
    'signs in with a one-time code, which disappears from the address, and cannot be used twice',
    async () => {
      expect(page.url()).not.toContain('sign-in');
      const code = await reader.codeFor(system.token);
      const first = await reader.newPage();
      await first.goto(`${system.server}/#/sign-in/${code}`);
      await first.getByRole('heading', { name: 'Fleet' }).waitFor();
      const second = await reader.newPage();
      await second.goto(`${system.server}/#/sign-in/${code}`);
      await seen(/was used before/, second);
      await second.getByLabel('API token').fill(system.token);
      await second.getByRole('button', { name: 'Sign in' }).click();
      await second.getByRole('heading', { name: 'Fleet' }).waitFor();
      await second.getByRole('button', { name: /Sign out/ }).click();
      await second.getByLabel('API token').waitFor();
      await Promise.all([first, second].map((one) => one.context().close()));
    },
    TIMEOUT_MS,
  );

  it(
    'signs a user in with OpenID Connect, and out again when the group is lost',
    async () => {
      await issuer.setMember('alice', 'readers', true);
      const theirs = await reader.newPage();
      await theirs.goto(system.server);
      await theirs.getByRole('link', { name: 'Sign in with OpenID Connect' }).click();
      await theirs.getByRole('textbox').first().fill('alice');
      await theirs.keyboard.press('Enter');
      await theirs.getByRole('heading', { name: 'Fleet' }).waitFor();
      expect(new URL(theirs.url()).origin).toBe(system.server);
      await theirs.getByRole('button', { name: /Sign out/ }).waitFor();
      await seen('alice', theirs);
      expect(await theirs.getByRole('link', { name: 'Create', exact: true }).count()).toBe(0);
      await issuer.setMember('alice', 'readers', false);
      await theirs.getByText('None of your groups has a role here').waitFor();
      await theirs.context().close();
    },
    TIMEOUT_MS,
  );

  it(
    'creates a cluster with a form beside its manifest, validated while typing, and shows it until it is Ready',
    async () => {
      await open('create');
      const editor = page.getByLabel('Manifest', { exact: true });
      await editor.fill(MANIFEST);
      await seen('judged by the gateway');
      const asked: string[] = [];
      page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
      const replicas = page.locator('input[name="spec.controlPlane.replicas"]');
      await replicas.fill('2');
      await seen('cluster.control-plane-even');
      await seen(/judged in this browser in \d+ ms/);
      await page.locator('.cm-lint-marker-error').first().waitFor();
      expect(await editor.textContent()).toContain('controlPlane: { replicas: 2');
      expect(await page.getByRole('button', { name: 'Create', exact: true }).isDisabled()).toBe(true);
      // The gateway is not called for what the browser already refuses.
      await page.waitForTimeout(1_000);
      expect(asked.filter((one) => one.startsWith('PUT'))).toEqual([]);
      await editor.fill(MANIFEST);
      expect(await replicas.inputValue()).toBe('1');
      await seen('create-cluster');
      const own = await page.locator('.plan-steps').textContent();
      await seen('judged by the gateway');
      expect(await page.locator('.plan-steps').textContent()).toBe(own);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('heading', { name: /shop/ }).waitFor();
      await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      await page.getByText('Running', { exact: true }).first().waitFor();
      await seen('2/2 nodes');
    },
    TIMEOUT_MS,
  );

  it(
    'has a field for who may connect to the API, and says what it means',
    async () => {
      await open('create');
      const editor = page.getByLabel('Manifest', { exact: true });
      await editor.fill(`${MANIFEST}  firewall: { scope: api }\n`);
      await seen('The Kubernetes API is open to its nodes, its pods and Fairlead.');
      const field = page.locator('textarea[name="spec.firewall.api"]');
      // What few need is folded away.
      const folded = page.locator('details.form-group:not([open]) > summary').first();
      while (!(await field.isVisible())) await folded.click();
      await field.fill('192.0.2.0/24');
      await page.keyboard.press('Tab');
      await seen('The Kubernetes API is open to its nodes, its pods, Fairlead and 192.0.2.0/24.');
      await seen(/^Who may connect to the Kubernetes API on control planes/);
      await field.fill('everyone');
      await page.keyboard.press('Tab');
      await seen('The Kubernetes API is open to everyone.');
      expect(await editor.textContent()).toContain('api: everyone');
    },
    TIMEOUT_MS,
  );

  it(
    'has no serious accessibility violation in any view',
    async () => {
      const operations = (await system.call<{ items: { id: string }[] }>('GET', '/ns/default/clusters/shop/operations'))
        .body;
      const of = 'clusters/default/shop';
      const places = [
        ...['', 'create', 'connections', 'connections/lab', 'installation', of],
        ...['nodes', 'operations', 'events', 'audit', 'upgrade', 'edit'].map((part) => `${of}/${part}`),
        ...[
          `${of}/operations/${operations.items[0]!.id}`,
          `${of}/audit?event=${(await system.events('shop'))[2]!.meta.seq}`,
        ],
      ];
      const found: string[] = [];
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        for (const place of places) {
          await open(place);
          await page.locator('main h1').first().waitFor();
          await eventually(async () => (await page.getByText(/^Loading/).count()) === 0, { withinMs: SEEN_MS });
          found.push(...(await reader.seriousFaults(page)).map((fault) => `${scheme} ${place}: ${fault}`));
        }
      }
      await page.emulateMedia({ colorScheme: 'light' });
      expect(found).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'scales a pool after its plan was shown',
    async () => {
      await open('clusters/default/shop');
      await page.getByRole('button', { name: 'More in web' }).click();
      await page.getByRole('dialog').getByText('add-nodes').waitFor();
      await page.getByRole('button', { name: 'Scale to 2' }).click();
      await seen('3/3 nodes');
      const joined = (await system.events('shop')).filter(({ type }) => type === 'WorkerJoined');
      expect(joined).toHaveLength(2);
    },
    TIMEOUT_MS,
  );

  it(
    'edits a cluster: the browser predicts which node would leave, like the gateway',
    async () => {
      await open('clusters/default/shop/edit');
      await page.locator('input[name="spec.pools[0].replicas"]').fill('1');
      await seen('remove-nodes');
      const own = await page.locator('.plan-steps').textContent();
      await seen('judged by the gateway');
      expect([own, await page.locator('.plan-steps').textContent()]).toEqual([own, own]);
      expect(own).toMatch(/shop-w-\d+-\S+: the newest/);
    },
    TIMEOUT_MS,
  );

  it(
    'shows the fleet at an earlier time like GET ?at=',
    async () => {
      const events = await system.events('shop');
      const ready = events.find(({ type }) => type === 'VmCreated')!;
      const then = await fleet(`?at=${encodeURIComponent(ready.meta.time)}`);
      await open(`?at=${encodeURIComponent(ready.meta.time)}`);
      const row = page.getByRole('row').filter({ hasText: 'shop' });
      await row.getByText(then.items[0]!.state).waitFor();
      expect(await row.textContent()).toContain(`${then.items[0]!.nodesReady}/${then.items[0]!.nodesTotal}`);
      const startedMs = performance.now();
      for (let index = 0; index < 10; index += 1) await fleet(`?at=${events[events.length - 1 - index]!.meta.seq}`);
      const eachMs = (performance.now() - startedMs) / 10;
      process.stdout.write(`page: ${Math.round(eachMs)} ms for the fleet at another moment\n`);
      await page.getByLabel('Moment').press('End');
      await page.getByRole('button', { name: 'Live' }).waitFor();
      await row.getByText('Running').waitFor();
    },
    TIMEOUT_MS,
  );

  it(
    'draws the causes of an event, and describes them in one sentence',
    async () => {
      const events = await system.events('shop');
      const created = events.find(({ type }) => type === 'VmCreated')!;
      await open(`clusters/default/shop/audit?event=${created.meta.seq}`);
      await seen(/is running at .* because: .*planned/);
      const graph = page.getByRole('region', { name: /^Causes of event/ });
      for (const type of ['ClusterRequested', 'VmsPlanned']) await graph.getByText(type).waitFor();
      await graph.getByText('VmsPlanned').click();
      await page.getByRole('heading', { name: /VmsPlanned/ }).waitFor();
    },
    TIMEOUT_MS,
  );

  it(
    'verifies the hash chains itself, and refuses a log that was changed',
    async () => {
      await open('clusters/default/shop/audit');
      await page.getByRole('button', { name: 'Verify the hash chains' }).click();
      await page.getByText('Intact', { exact: true }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save the log' }).click(),
      ]);
      const saved = readFileSync(await download.path(), 'utf8');
      const choose = (text: string) =>
        page
          .getByLabel('Verify a saved log')
          .setInputFiles({ name: 'log.json', mimeType: 'application/json', buffer: Buffer.from(text) });
      await choose(saved);
      await seen(/of log\.json in/);
      await page.getByText('Intact', { exact: true }).waitFor();
      const changed = saved.replace('lab.medium', 'lab.large!');
      expect(changed).not.toBe(saved);
      await choose(changed);
      await page.getByText('Not intact', { exact: true }).waitFor();
    },
    TIMEOUT_MS,
  );

  it(
    'shows the plan of an upgrade, requests it, waits for approval of its hash, and aborts it',
    async () => {
      await open('clusters/default/shop/upgrade');
      await page.getByLabel(/Kubernetes version/).fill('1.35.4');
      await page.getByRole('button', { name: 'Show the plan' }).click();
      await seen(/^Plan: /);
      await page.getByRole('button', { name: 'Request this upgrade' }).click();
      await page.getByRole('button', { name: /^Approve plan/ }).click();
      await page.getByRole('button', { name: /^Pause/ }).click();
      await page.getByLabel('Reason, for the log').fill('a look');
      await page.getByRole('button', { name: 'Pause', exact: true }).click();
      await system.until('shop', ({ type }) => type === 'RolloutPaused', TIMEOUT_MS);
      await page.getByRole('button', { name: /^Override/ }).click();
      await page.getByRole('dialog').getByLabel(/^Rule/).selectOption('B6');
      await page.getByLabel('Reason, for the log').fill('known to be so here');
      await page.getByRole('button', { name: 'Override', exact: true }).click();
      await system.until('shop', ({ type }) => type === 'UpgradeRuleOverridden', TIMEOUT_MS);
      await seen(/B6 is overridden by .*: known to be so here/);
      await page.getByRole('button', { name: /^Abort/ }).click();
      await page.getByLabel('Reason, for the log').fill('enough seen');
      await page.getByRole('button', { name: 'Abort', exact: true }).click();
      const aborted = await system.until('shop', ({ type }) => type === 'RolloutAborted', TIMEOUT_MS);
      expect(aborted.type).toBe('RolloutAborted');
      await page.getByText('Aborted', { exact: true }).first().waitFor();
    },
    TIMEOUT_MS,
  );

  it(
    'explains a failure, and offers a retry',
    async () => {
      await system.lab('PUT', '/v1/faults', { items: [{ kind: 'quota' }] });
      const manifest = MANIFEST.replace('name: shop', 'name: broken');
      await open('create');
      await page.getByLabel('Manifest', { exact: true }).fill(manifest);
      await seen('judged by the gateway');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText(/quota/i).first().waitFor();
      await system.lab('DELETE', '/v1/faults');
      await open('?search=broken');
      await page.getByRole('row').filter({ hasText: 'broken' }).waitFor();
    },
    TIMEOUT_MS,
  );

  it(
    'offers a viewer no action that would be refused',
    async () => {
      const { body } = await system.call<CreatedTokenView>('POST', '/tokens', {
        name: 'viewer',
        roles: [{ namespace: 'default', role: 'viewer' }],
      });
      const theirs = await signedIn(body.token);
      await theirs.getByRole('link', { name: 'shop' }).waitFor();
      expect(await theirs.getByRole('link', { name: 'Create', exact: true }).count()).toBe(0);
      for (const place of ['', '/nodes', '/operations', '/upgrade', '/edit']) {
        await theirs.goto(`${system.server}/#/clusters/default/shop${place}`);
        await theirs
          .getByRole('heading', { name: /shop|Upgrade|Edit/ })
          .first()
          .waitFor();
        const buttons = await theirs.getByRole('button').allTextContents();
        const offered = buttons.filter((text) =>
          /Pause|Resume|Delete|Retry|Replace|Remove|^[+−]$|Apply|Request|Approve|Abort/.test(text),
        );
        expect([place, offered]).toEqual([place, []]);
      }
      const refused: string[] = [];
      theirs.on('response', (response) => {
        if (response.status() === 403) refused.push(response.url());
      });
      for (const place of ['', 'connections', 'installation', 'clusters/default/shop', 'clusters/default/shop/audit']) {
        await theirs.goto(`${system.server}/#/${place}`);
        await theirs.locator('main h1').first().waitFor();
        await eventually(async () => (await theirs.getByText(/^Loading/).count()) === 0, { withinMs: SEEN_MS });
      }
      expect(refused).toEqual([]);
      await theirs.context().close();
    },
    TIMEOUT_MS,
  );

  it(
    'shows since when the gateway has been unreachable, and continues when it is back',
    async () => {
      await open('');
      await page.getByRole('link', { name: 'shop' }).waitFor();
      system.kill('gateway');
      await seen(/has not answered since/);
      await eventually(async () => (await page.getByText(/has not answered since/).count()) === 0, {
        withinMs: TIMEOUT_MS / 2,
      });
      await page.getByRole('link', { name: 'shop' }).waitFor();
      await system.call('POST', '/ns/default/clusters/shop/pause', { reason: 'to see it live' });
      await page.getByRole('row').filter({ hasText: 'shop' }).getByText('Paused').waitFor();
    },
    TIMEOUT_MS,
  );

  it('violated no policy and threw no error', () => {
    expect(existsSync(BUILT)).toBe(true);
    expect(reader.complaints).toEqual([]);
  });
});
