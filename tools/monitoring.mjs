// Alert rules and dashboards, as far as specs look into them.
import * as z from 'zod';

const Rule = z.strictObject({
  alert: z.string().regex(/^Fairlead[A-Z]\w+$/u),
  expr: z.string().min(1),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string().min(1), action: z.string().min(1), runbook: z.string() }),
});

export const Rules = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(Rule).min(1) })).min(1),
});

export const RuleTests = z.strictObject({
  rule_files: z.array(z.string()),
  evaluation_interval: z.string(),
  tests: z.array(
    z.strictObject({
      name: z.string(),
      interval: z.literal('1m'),
      input_series: z.array(z.strictObject({ series: z.string(), values: z.string() })).min(1),
      alert_rule_test: z.array(
        z.strictObject({ eval_time: z.string(), alertname: z.string(), exp_alerts: z.array(z.unknown()) }),
      ),
    }),
  ),
});

const count = z.int().min(0);
const place = {
  id: z.int().min(1),
  gridPos: z.strictObject({ x: count, y: count, w: z.int().min(1), h: z.int().min(1) }),
};
const datasource = z.strictObject({ type: z.literal('prometheus'), uid: z.literal('${datasource}') });
const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/u),
  datasource,
  expr: z.string().min(1),
  legendFormat: z.string(),
  instant: z.boolean().optional(),
});
const drawn = {
  ...place,
  title: z.string().min(1),
  description: z.string().min(1),
  datasource,
  targets: z.array(target).min(1),
  fieldConfig: z.strictObject({ defaults: z.looseObject({ unit: z.string() }), overrides: z.array(z.unknown()) }),
  options: z.looseObject({}),
};
const Panel = z.discriminatedUnion('type', [
  z.strictObject({
    ...place,
    type: z.literal('row'),
    title: z.string(),
    collapsed: z.literal(false),
    panels: z.array(z.never()),
  }),
  z.strictObject({ ...drawn, type: z.literal('stat') }),
  z.strictObject({ ...drawn, type: z.literal('timeseries') }),
]);

/** What these dashboards use of Grafana's model of a dashboard; it has no schema in JSON. */
export const Dashboard = z.looseObject({
  uid: z.string().regex(/^[\w-]{1,40}$/u),
  title: z.string().min(1),
  schemaVersion: z.int().min(36),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({
    list: z.tuple([
      z.looseObject({ name: z.literal('datasource'), type: z.literal('datasource'), query: z.literal('prometheus') }),
      z.looseObject({ name: z.literal('job'), type: z.literal('query'), datasource }),
    ]),
  }),
  panels: z.array(Panel).min(1),
});

/** With a value for each variable, as Grafana asks Prometheus. */
export const dashboardExpressions = ({ panels }) =>
  panels.flatMap((panel) =>
    panel.type === 'row' ? [] : panel.targets.map(({ expr }) => expr.replaceAll('$job', '.+')),
  );

/** The metrics of an expression: what is named outside of labels, ranges and texts. */
export const metricsIn = (expr) => {
  const bare = expr.replaceAll(/"[^"]*"/gu, '""').replaceAll(/\{[^}]*\}|\[[^\]]*\]/gu, '');
  return [...new Set(bare.match(/\bfairlead_\w+|\bprocess_\w+|\bup\b/gu) ?? [])];
};
