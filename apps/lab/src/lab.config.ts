import { parseArgs } from 'node:util';
import * as z from 'zod';
import { DEFAULT_DELAYS } from './kubernetes/clock/simulation.delays.js';

/** The settings of a lab. */
export const LabConfig = z.strictObject({
  dataFolder: z.string().min(1),
  /** 0 selects any free port. */
  port: z.coerce.number().int().min(0).max(65_535),
  /** The port of the simulated identity provider; 0 selects any free port, absent: none is started. */
  identityPort: z.coerce.number().int().min(0).max(65_535).optional(),
  token: z.string().min(8, 'LAB_TOKEN must have at least 8 characters'),
  light: z.boolean(),
  delays: z.enum(['real', 'none']),
  /** The Node.js binary for simulated hosts. */
  nodeBinary: z.string().min(1),
  /** How long a kubelet may miss heartbeats before its Node becomes Unknown. */
  nodeMonitorGraceMs: z.coerce.number().int().min(100).max(600_000),
  /** The age of the certificates of new clusters; kubeadm's are valid for a year. */
  /** Fractions up to the whole validity of a year, so that certificates can expire during a test. */
  certificateAgeDays: z.coerce.number().min(0).max(365),
});
export type LabConfig = z.infer<typeof LabConfig>;

export const USAGE =
  'usage: LAB_TOKEN=... [LAB_CERTIFICATE_AGE_DAYS=0] [LAB_NODE_MONITOR_GRACE_MS=40000] node apps/lab/dist/main.js --data DIR --port PORT [--identity-port PORT] [--light] [--delays real|none] [--node-binary PATH]';

/** Parses the command line and the environment. Throws an error that lists all problems. */
export const parseConfig = (args: readonly string[], environment: NodeJS.ProcessEnv): LabConfig => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: '0' },
      'identity-port': { type: 'string' },
      light: { type: 'boolean', default: false },
      delays: { type: 'string', default: 'real' },
      'node-binary': { type: 'string', default: process.execPath },
    },
  });
  const result = LabConfig.safeParse({
    dataFolder: values.data,
    port: values.port,
    identityPort: values['identity-port'],
    token: environment['LAB_TOKEN'],
    light: values.light,
    delays: values.delays,
    nodeBinary: values['node-binary'],
    certificateAgeDays: environment['LAB_CERTIFICATE_AGE_DAYS'] ?? 0,
    nodeMonitorGraceMs: environment['LAB_NODE_MONITOR_GRACE_MS'] ?? DEFAULT_DELAYS.nodeMonitorGraceMs,
  });
  if (result.success) return result.data;
  throw new Error(z.prettifyError(result.error));
};
