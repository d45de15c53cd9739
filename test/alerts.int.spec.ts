import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Dashboard, dashboardExpressions } from '../tools/monitoring.mjs';
import { findPrometheus, promtool } from './system/prometheus.js';

const DEPLOY = fileURLToPath(new URL('../deploy', import.meta.url));
const RULES = join(DEPLOY, 'prometheus');
const found = await findPrometheus();
const itChecks = 'reason' in found ? it.skip : it;
const folder = newFolder('alerts');
const run = (args: readonly string[], cwd: string) => {
  if ('reason' in found) throw new Error(found.reason);
  return promtool(found, args, cwd);
};

afterAll(() => removeFolder(folder));

describe('the files for Prometheus and Grafana', () => {
  itChecks('have rules that fire and clear by themselves, as promtool finds [azimuth 34]', () => {
    const { code, output } = run(['test', 'rules', 'rules.test.yaml'], RULES);
    expect(output).toContain('SUCCESS');
    expect(code).toBe(0);
  });

  itChecks('have a configuration that Prometheus accepts', () => {
    const { code, output } = run(['check', 'config', 'prometheus.yaml'], RULES);
    expect([code, output]).toEqual([0, expect.stringContaining('is valid prometheus config file syntax')]);
  });

  itChecks.each(['clusters', 'services'])('have a dashboard whose expressions Prometheus can read: %s', (name) => {
    const dashboard = Dashboard.parse(JSON.parse(readFileSync(join(DEPLOY, 'grafana', `${name}.json`), 'utf8')));
    const rules = dashboardExpressions(dashboard).map((expr, at) => ({ record: `panel:${at}`, expr }));
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, JSON.stringify({ groups: [{ name, rules }] }));
    const { code, output } = run(['check', 'rules', file], folder);
    expect([code, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${rules.length} rules found`)]);
  });
});
