import * as z from 'zod';
import type { RealmSettings } from '../api/views.js';

const TIMEOUT_MS = 10_000;

const Identity = z.object({ issuerUrl: z.string(), ca: z.string(), clientId: z.string() });

/** The realm of the lab's identity provider, as the lab itself says. Whoever has the token of the lab manages it. */
export const simulatedRealm = async ({
  endpoint,
  token,
}: {
  readonly endpoint: string;
  readonly token: string;
}): Promise<RealmSettings> => {
  const response = await fetch(`${endpoint}/v1/identity`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`the lab answers ${response.status} when it is asked for its identity provider`);
  return { provider: 'keycloak', ...Identity.parse(await response.json()), clientSecret: token };
};
