import type { FleetList, SignInCodeView } from '@fairlead/contracts';
import { contention } from '@fairlead/testing/processor.time';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium } from './system/chromium.js';
import { clusterBody, startSystem, type System } from './system/system.js';

const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
const TIMEOUT_MS = 300_000;
const CLUSTERS = 1_000;
const AT_ONCE = 20;
const LOADS = 9;
const USABLE_MS = 1_000;
const MOMENTS = 9;
const MOMENT_MS = 200;
const SHOWN_MS = 10_000;

const chromium = await findChromium();
if ('reason' in chromium) process.stderr.write(`\n!!! NOT CHECKED in a browser: ${chromium.reason}\n\n`);
const inBrowser = 'reason' in chromium ? describe.skip : describe;

inBrowser("the operator's page with 1,000 clusters", () => {
  let system: System;
  let browser: Browser;
  let page: Page;

  /** From the request of the document until the first cluster can be opened and the search can be used. */
  const load = async (): Promise<number> => {
    await page.goto('about:blank');
    const startedAt = performance.now();
    await page.goto(`${system.server}/`, { waitUntil: 'commit' });
    await page.getByRole('link', { name: 'c0000' }).waitFor();
    await page.getByRole('searchbox').isEnabled();
    return performance.now() - startedAt;
  };

  beforeAll(async () => {
    execFileSync(process.execPath, [join(CHECKOUT, 'tools/page.mjs'), '--if-changed'], { cwd: CHECKOUT });
    if ('reason' in chromium) return;
    [system, browser] = await Promise.all([startSystem({ light: true }), launchChromium(chromium)]);
    // The content of the clusters does not matter for a list, and leaves the machine to the browser.
    await system.supervisor.hold('infra-svc');
    const names = Array.from({ length: CLUSTERS }, (_, index) => `c${String(index).padStart(4, '0')}`);
    for (let from = 0; from < names.length; from += AT_ONCE)
      await Promise.all(
        names.slice(from, from + AT_ONCE).map(async (name) => {
          const { status } = await system.call(
            'POST',
            '/ns/default/clusters',
            clusterBody(name, { controlPlanes: 1, workers: 1 }),
          );
          expect(status).toBe(202);
        }),
      );
    const { body } = await system.call<SignInCodeView>('POST', '/sign-in/codes');
    page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    await page.goto(`${system.server}/#/sign-in/${body.code}`);
    await page.getByText('1,000 clusters').waitFor({ timeout: TIMEOUT_MS });
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser?.close();
    await system?.stop();
  }, TIMEOUT_MS);

  it(
    'is usable within one second',
    async () => {
      const loads: { readonly ms: number; readonly busy: number }[] = [];
      for (let round = 0; round < LOADS; round += 1) loads.push({ busy: contention(), ms: await load() });
      const sorted = loads.map(({ ms }) => ms).toSorted((one, other) => one - other);
      const median = sorted[(LOADS - 1) / 2] ?? Number.NaN;
      // Other programs of the machine can only add to a load, so the shortest one measures the page.
      const best = Math.min(...loads.map(({ ms, busy }) => ms / busy));
      process.stdout.write(
        `page: usable after ${median.toFixed(0)} ms with 1,000 clusters (median of ${LOADS}; without other programs ${best.toFixed(0)} ms)\n`,
      );
      expect(best).toBeLessThan(USABLE_MS);
    },
    TIMEOUT_MS,
  );

  it(
    'shows the last of them when scrolled to the end',
    async () => {
      const last = page.getByRole('link', { name: 'c0999' });
      await page.getByRole('link', { name: 'c0000' }).hover();
      for (let turn = 0; turn < 60 && !(await last.isVisible()); turn += 1) {
        await page.mouse.wheel(0, 20_000);
        await page.waitForTimeout(250);
      }
      expect(await last.isVisible()).toBe(true);
    },
    TIMEOUT_MS,
  );

  it(
    'finds one of them by its name',
    async () => {
      await page.getByRole('searchbox').fill('c0777');
      await page.getByText('1 cluster', { exact: true }).waitFor();
      const { body } = await system.call<FleetList>('GET', '/fleet?search=c0777');
      expect(body.items.map(({ name }) => name)).toEqual(['c0777']);
      await page.getByRole('link', { name: 'c0777' }).waitFor({ timeout: SHOWN_MS });
    },
    TIMEOUT_MS,
  );

  it(
    'shows all of them at other moments, each within 200 ms once their histories are read',
    async () => {
      const { body: last } = await system.call<FleetList>('GET', '/fleet?limit=1&sort=since&order=descending');
      const lastSeq = last.items[0]!.lastSeq;
      const at = async (seq: number): Promise<number> => {
        const startedAt = performance.now();
        const { status, body } = await system.call<FleetList>('GET', `/fleet?at=${seq}&limit=200`);
        const ms = performance.now() - startedAt;
        expect([status, body.items.length]).toEqual([200, 200]);
        return ms;
      };
      const firstMs = await at(lastSeq);
      const moments: { readonly ms: number; readonly busy: number }[] = [];
      for (let index = 1; index <= MOMENTS; index += 1)
        moments.push({ busy: contention(), ms: await at(lastSeq - index) });
      const best = Math.min(...moments.map(({ ms, busy }) => ms / busy));
      process.stdout.write(
        `page: the fleet of 1,000 clusters at a moment: the first after ${firstMs.toFixed(0)} ms, the next ${moments.map(({ ms }) => ms.toFixed(0)).join(', ')} ms (without other programs ${best.toFixed(0)} ms)\n`,
      );
      expect(best).toBeLessThan(MOMENT_MS);
    },
    TIMEOUT_MS,
  );
});
