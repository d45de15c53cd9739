import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@fairlead/embedded';
import { distributionOf, lineOf, type Figure } from './figures.js';

const run = promisify(execFile);
const WARM_STARTS = 5;

/** `fairlead up --detach` on a data folder that exists: from the command to serving. */
export const benchStart = async (checkout: string): Promise<Figure[]> => {
  const data = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  const cli = join(checkout, 'apps', 'cli', 'dist', 'bundle.mjs');
  const [port = 0] = await freePorts(`${data}/bench`, 1);
  const up = async (): Promise<number> => {
    const startedAt = performance.now();
    await run(process.execPath, [cli, 'up', '--detach', '--data', data, '--port', String(port)], { timeout: 120_000 });
    const seconds = (performance.now() - startedAt) / 1_000;
    await run(process.execPath, [cli, 'down', '--data', data], { timeout: 120_000 });
    return seconds;
  };
  try {
    const cold = await up();
    const warm: number[] = [];
    for (let index = 0; index < WARM_STARTS; index += 1) warm.push(await up());
    const distribution = distributionOf(warm);
    return [
      { name: 'embedded cold start, programs cached', value: `${cold.toFixed(1)} s` },
      { name: 'embedded warm start', value: lineOf(distribution, 's'), goal: '< 2 s', met: distribution.p50 < 2 },
    ];
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
};
