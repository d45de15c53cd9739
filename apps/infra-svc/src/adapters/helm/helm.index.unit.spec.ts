import { describe, expect, it } from '@jest/globals';
import { versionsIn } from './helm.index.js';
import { ITEM_LENGTH_MAX } from './helm.limits.js';

const BASE = 'https://charts.example.org/';
const read = async (text: string): Promise<readonly string[]> =>
  (await versionsIn(text, 'grafana', BASE)).map(({ version }) => version);

describe('an index of a chart repository', () => {
  it('is read in pieces, between which other work goes on, however much it has about a chart', async () => {
    const entry = (at: number): string =>
      `  - version: 1.0.${at}\n    description: |\n      - ${'x '.repeat(1_000)}\n\n      y: 1\n    urls:\n    - a.tgz\n`;
    const entries = Array.from({ length: 1_000 }, (_, at) => entry(at)).join('');
    let turns = 0;
    let isRead = false;
    const count = (): void => {
      if (isRead) return;
      turns += 1;
      setImmediate(count);
    };
    setImmediate(count);
    const versions = await read(`apiVersion: v1\nentries:\n  grafana:\n${entries}generated: now\n`);
    isRead = true;
    expect(versions).toHaveLength(1_000);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(entries.length / ITEM_LENGTH_MAX));
  });

  it('has comments, blank lines and items in any form that Helm may read', async () => {
    const items = [
      '  # The newest',
      '',
      '  -',
      '    version: 2.0.0',
      '    urls: [b.tgz]',
      '  - {version: 1.0.0, urls: [a.tgz]}',
    ];
    expect(await read(['entries:', '  "grafana":', ...items, '  zebra: []'].join('\n'))).toEqual(['2.0.0', '1.0.0']);
    expect(await read('entries:\n  grafana:\n  zebra: []\n')).toEqual([]);
  });
});
