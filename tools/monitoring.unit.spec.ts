import {
  AZIMUTH_PHASES,
  CLUSTER_PHASES,
  CLUSTER_STATES,
  CONDITION_REASONS,
  NODE_PHASES,
  UPGRADE_PHASES,
} from '@fairlead/contracts';
import { projectFiles } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import * as z from 'zod';
import { dashboardExpressions, Dashboard, metricsIn, Rules, RuleTests } from './monitoring.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Of Prometheus itself, and of every program in Node.js. */
const OTHERS: ReadonlySet<string> = new Set(['up', 'process_resident_memory_bytes']);

const SOURCES = projectFiles(root, 'apps/*/src/*.ts', 'libs/*/src/*.ts').filter(
  (file) => !/\.(spec|fixtures)\.ts$/u.test(file),
);
const DEFINED = /(?:new (\w+)\(\{\s*name: |\bname: |\bgauge\(\s*)'(fairlead_\w+)'/g;

/** As their definitions in the sources name them. */
const definitions = SOURCES.flatMap((file) =>
  [...textOf(file).matchAll(DEFINED)].map(([, kind = '', name = '']) => ({ name, isHistogram: kind === 'Histogram' })),
);
const exported = new Set(
  definitions.flatMap(({ name, isHistogram }) =>
    isHistogram ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name],
  ),
);

const { groups } = Rules.parse(parse(textOf('deploy/prometheus/rules.yaml')));
const { tests } = RuleTests.parse(parse(textOf('deploy/prometheus/rules.test.yaml')));
const rules = groups.flatMap((group) => group.rules);
const dashboards = ['clusters', 'services'].map((name) =>
  Dashboard.parse(JSON.parse(textOf(`deploy/grafana/${name}.json`))),
);
const expressions = [...rules.map(({ expr }) => expr), ...dashboards.flatMap(dashboardExpressions)];

/** Values of labels that are known without running anything. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  fairlead_clusters: CLUSTER_PHASES,
  fairlead_clusters_by_state: CLUSTER_STATES,
  fairlead_clusters_by_reason: CONDITION_REASONS,
  fairlead_clusters_by_azimuth_phase: AZIMUTH_PHASES,
  fairlead_nodes: NODE_PHASES,
  fairlead_upgrades: UPGRADE_PHASES,
};

const selected = (expr: string): readonly (readonly [string, string])[] =>
  [...expr.matchAll(/(\w+)\{(?:phase|state|reason)[!=~]+"([^"]+)"/g)].flatMap(([, metric = '', value = '']) =>
    value.split('|').map((one) => [metric, one] as const),
  );

const anchors = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-'));

describe('the metrics of Fairlead', () => {
  it('are each listed in the documentation, which lists no other', () => {
    const [, table = ''] = /\n## Metrics\n([\s\S]*?)\n## /.exec(textOf('docs/running.md')) ?? [];
    const listed = new Set([...table.matchAll(/`(fairlead_\w+)`/g)].map(([, name = '']) => name));
    expect(definitions.length).toBeGreaterThan(50);
    expect([...listed].filter((name) => !definitions.some((one) => one.name === name))).toEqual([]);
    expect(definitions.map(({ name }) => name).filter((name) => !listed.has(name))).toEqual([]);
  });
});

describe('the expressions of alerts and dashboards', () => {
  it('use metrics that services export [azimuth 34]', () => {
    const used = new Set(expressions.flatMap(metricsIn));
    expect(used.size).toBeGreaterThan(40);
    expect([...used].filter((name) => !exported.has(name) && !OTHERS.has(name))).toEqual([]);
  });

  it('select phases, states and reasons that exist', () => {
    const all = expressions.flatMap(selected);
    expect(all.length).toBeGreaterThan(30);
    expect(all.filter(([metric, value]) => VALUES[metric]?.includes(value) === false)).toEqual([]);
  });

  it('would be found if they used a metric that nothing exports', () => {
    expect(metricsIn('sum by (a) (rate(fairlead_gone_total{b="fairlead_c"}[5m])) > on (d) up')).toEqual([
      'fairlead_gone_total',
      'up',
    ]);
    expect(exported.has('fairlead_gone_total')).toBe(false);
  });
});

describe('the alert rules', () => {
  it('have different names, a severity, and what to do, with a section of the documentation', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const sections = anchors(textOf('docs/troubleshooting.md')).map((anchor) => `docs/troubleshooting.md#${anchor}`);
    expect(rules.filter(({ annotations }) => !sections.includes(annotations.runbook))).toEqual([]);
  });

  it('are each a row of the documentation, with their severity, their time and what to do', () => {
    const cells = textOf('docs/troubleshooting.md')
      .split('\n')
      .filter((line) => line.startsWith('| `Fairlead'))
      .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '').replaceAll('"', '')));
    const rows = rules.map(({ alert, labels, annotations, for: after = '' }) =>
      [alert, labels.severity, after, annotations.action].map((cell) => cell.replaceAll('"', '')),
    );
    expect(cells.map((row) => row.slice(1, 5))).toEqual(rows);
  });

  it('name commands that exist', () => {
    const cli = textOf('docs/cli.md');
    const commands = rules.flatMap(({ annotations }) =>
      [...annotations.action.matchAll(/"(fairlead [a-z -]+?)(?: -.*?)?"/g)].map(([, command = '']) => command),
    );
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.filter((command) => !cli.includes(`### ${command}`))).toEqual([]);
  });

  it('each have a test in which they are quiet, fire once, and are quiet again [azimuth 34]', () => {
    expect(tests.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
    for (const { name, alert_rule_test: checks } of tests)
      expect([name, ...checks.map(({ alertname, exp_alerts: alerts }) => `${alertname} ${alerts.length}`)]).toEqual([
        name,
        ...[0, 1, 0].map((count) => `${name} ${count}`),
      ]);
  });
});

describe('the dashboards', () => {
  it.each(dashboards)('are what Grafana reads: $title', ({ panels, uid, title }) => {
    expect([uid, title]).toEqual([expect.stringMatching(/^fairlead-/), expect.stringMatching(/^Fairlead: /)]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(places).size).toBe(places.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it('have different identities', () => expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length));

  it('are refused with a panel that Grafana cannot draw', () => {
    const [first] = dashboards;
    const broken = { ...first, panels: [{ ...first!.panels[1], targets: [] }] };
    expect(z.safeParse(Dashboard, broken).success).toBe(false);
  });
});
