import { describe, expect, it } from '@jest/globals';
import { versionsIn } from './chart.index.js';

const GRAFANA = { repository: 'https://charts.example.org/', chart: 'grafana' };
const { signal } = new AbortController();
const read = async (text: string): Promise<readonly string[]> =>
  (await versionsIn(Buffer.from(text), GRAFANA, signal)).map(({ version }) => version);

describe('an index of a chart repository', () => {
  it('may have comments, blank lines and items in every form that Helm accepts', async () => {
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
