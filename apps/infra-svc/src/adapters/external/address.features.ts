import { isRefusal, type ConnectionName } from '@fairlead/contracts';
import * as z from 'zod';
import { describeProvider } from '../provider.features.js';
import { externalKind } from './external.kind.js';

/** The arguments of `npm run conformance:provider`. */
const Arguments = z.object({
  address: z.string(),
  region: z.string(),
  spec: z.string(),
  options: z.record(z.string(), z.unknown()),
  secret: z.string(),
  cidr: z.cidrv4(),
  minutes: z.number(),
});

const MINUTE_MS = 60_000;
const { address, region, spec, options, secret, cidr, minutes } = Arguments.parse(
  JSON.parse(process.env['FAIRLEAD_PROVIDER'] ?? '{}'),
);
/** A valid key whose private half was discarded. */
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKc0bJ6Jxg0b5Yv3n0cJ1m9m8q0l1g0b1JrKq1u0n3Zb conformance';

describeProvider(
  `at ${address}`,
  async () => ({
    open: () => {
      const connection = {
        ...{ name: 'conformance' as ConnectionName, provider: 'external', region, zone: '' },
        ...{ settings: { address, options }, secretRef: null, registration: 'conformance' },
      };
      const provider = externalKind({ timeoutMs: minutes * MINUTE_MS }).open(connection, secret);
      if (isRefusal(provider)) throw new Error(provider.message);
      return provider;
    },
    ...{ connection: 'conformance', region, spec, publicKey: PUBLIC_KEY, cidr },
    stop: async () => undefined,
  }),
  minutes * MINUTE_MS,
);
