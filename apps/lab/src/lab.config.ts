import { parseArgs } from 'node:util';
import * as z from 'zod';
import { DEFAULT_DELAYS } from './kubernetes/clock/simulation.delays.js';

/** How a lab is started. */
export const LabConfig = z.strictObject({
  dataFolder: z.string().min(1),
  /** 0 takes any free port. */
  port: z.coerce.number().int().min(0).max(65_535),
  /** Where the simulated identity provider listens; 0 takes any free port, absent: there is none. */
  identityPort: z.coerce.number().int().min(0).max(65_535).optional(),
  token: z.string().min(8, 'LAB_TOKEN must have at least 8 characters'),
  light: z.boolean(),
  delays: z.enum(['real', 'none']),
  /** The Node runtime that simulated hosts have. */
  nodeBinary: z.string().min(1),
  /** A Node whose kubelet is silent for so long is Unknown to Kubernetes. */
  nodeMonitorGraceMs: z.coerce.number().int().min(100).max(600_000),
  /** Certificates of clusters that are made count as made so long ago; kubeadm's live a year. */
  /** Fractions, up to the whole year for which they are valid: certificates may end while a test runs. */
  certificateAgeDays: z.coerce.number().min(0).max(365),
});
export type LabConfig = z.infer<typeof LabConfig>;

export const USAGE =
  'usage: LAB_TOKEN=... [LAB_CERTIFICATE_AGE_DAYS=0] [LAB_NODE_MONITOR_GRACE_MS=40000] node apps/lab/dist/main.js --data DIR --port PORT [--identity-port PORT] [--light] [--delays real|none] [--node-binary PATH]';

/** Reads the command line and the environment. Throws an Error that names every fault at once. */
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
