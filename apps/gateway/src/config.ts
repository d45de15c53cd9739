import { MaintenanceWindow } from '@fairlead/contracts';
import { parseEnvironment } from '@fairlead/service-kit';
import { z } from 'zod';

export const GATEWAY_CONFIG = Symbol('fairlead.gateway-config');

const WINDOW = /^([a-z,]+) (\d{2}:\d{2})-(\d{2}:\d{2})$/;

/** `sat,sun 01:00-05:00; wed 02:00-04:00`, in UTC. */
const windows = z.string().transform((text, context): readonly MaintenanceWindow[] =>
  text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [, days = '', from, to] = WINDOW.exec(part) ?? [];
      const parsed = MaintenanceWindow.safeParse({ days: days.split(','), from, to });
      if (parsed.success) return [parsed.data];
      context.addIssue({ code: 'custom', message: `"${part}" is no window like "sat,sun 01:00-05:00"` });
      return [];
    }),
);

const Environment = z.object({
  FAIRLEAD_LOCAL_TOKEN_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File of the local administrator token; made at the first start. Left out: tokens exist only in the database',
    ),
  CERTIFICATE_RENEWAL: z
    .enum(['tell', 'renew'])
    .default('tell')
    .describe(
      'What follows when certificates of a cluster end in less than 90 days: renew begins a roll-out by itself',
    ),
  CERTIFICATE_RENEWAL_WINDOWS: windows
    .prefault('')
    .describe('When control planes may be touched for it, e.g. "sat,sun 01:00-05:00" (UTC); empty: always'),
  AGENT_NATS_URLS: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where agents find NATS, as bootstrap-svc is told it: own hosts that cannot reach it are refused; left out: not checked',
    ),
});

export interface GatewayConfig {
  /** undefined: not known here. */
  readonly agentNatsUrls: readonly string[] | undefined;
  readonly localTokenFile: string | undefined;
  readonly renewal: 'tell' | 'renew';
  readonly renewalWindows: readonly MaintenanceWindow[];
}

export const readGatewayConfig = (env: Readonly<Record<string, string | undefined>>): GatewayConfig => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    localTokenFile: parsed.FAIRLEAD_LOCAL_TOKEN_FILE,
    agentNatsUrls: parsed.AGENT_NATS_URLS?.split(','),
    renewal: parsed.CERTIFICATE_RENEWAL,
    renewalWindows: parsed.CERTIFICATE_RENEWAL_WINDOWS,
  });
};
