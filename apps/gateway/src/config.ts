import { parseEnvironment } from '@fairlead/service-kit';
import { z } from 'zod';

export const GATEWAY_CONFIG = Symbol('fairlead.gateway-config');

const Environment = z.object({
  FAIRLEAD_LOCAL_TOKEN_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File of the local administrator token; made at the first start. Left out: tokens exist only in the database',
    ),
});

export interface GatewayConfig {
  readonly localTokenFile: string | undefined;
}

export const readGatewayConfig = (env: Readonly<Record<string, string | undefined>>): GatewayConfig => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({ localTokenFile: parsed.FAIRLEAD_LOCAL_TOKEN_FILE });
};
