import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pagesAsked } from './traffic.js';

const OUTPUT_MAX = 65_536;
const run = promisify(execFile);

describe('requests for a page from inside a host', () => {
  let folder: string;

  beforeEach(() => {
    folder = newFolder('traffic');
  });
  afterEach(() => removeFolder(folder));

  /** Commands run here, on the folder's log; as on hosts, only the end of their output is kept. */
  const onHost = async (_host: string, command: string, ...words: readonly string[]): Promise<string> => {
    if (command === 'systemctl') return '';
    const { stdout } = await run(command, [...words.slice(0, -1), join(folder, 'traffic.log')]);
    return stdout.slice(-OUTPUT_MAX);
  };

  it('are all counted, however many: the first failure is not lost', async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `${(1_795_679_601 + index / 5).toFixed(9)} 200`);
    lines[1] = '1795679601.4 failed: curl: (28) timed out';
    writeFileSync(join(folder, 'traffic.log'), `${lines.join('\n')}\n`);
    const [page] = await pagesAsked({ onHost }, ['one']);
    expect(page).toMatchObject({ requests: 5_000, failures: [lines[1]] });
    expect(page?.longestGap).toBeLessThan(1);
  });
});
