import { SHARED_WITH_ALL } from '@fairlead/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.js';
import type { RealmSettings } from '../api/views.js';
import { CliFailure } from '../failures.js';
import { DEFAULT_NAMESPACE, SITES, type Provider } from './up.settings.js';

const VERIFIED_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

/** How infra-svc reaches what an instance begins with. */
export interface SiteAccess {
  readonly provider: Provider;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Sealed. */
  readonly token?: string;
  /** Resolves when it answers. */
  readonly ready: Promise<void>;
  /** How the identity provider that comes with it is reached; absent: none does. */
  readonly realm?: () => Promise<RealmSettings>;
}

/** Makes sure that the instance has a namespace, a connection and, with a simulated identity provider, a realm to begin with. Changes nothing that is as it should be. */
export const registerDefaults = async (api: Api, site: SiteAccess): Promise<void> => {
  const ensureRealms = async (): Promise<void> => {
    await ensureNamespace(api, DEFAULT_NAMESPACE);
    await ensureRealm(api, site);
  };
  await Promise.all([ensureRealms(), ensureSite(api, site)]);
};

/** Its name is that of the connection. */
const ensureRealm = async (api: Api, { provider, realm, ready }: SiteAccess): Promise<void> => {
  if (realm === undefined) return;
  const { connection: name } = SITES[provider];
  await ready;
  const settings = await realm();
  const known = (await api.list('/ns/{namespace}/realms', { namespace: DEFAULT_NAMESPACE })).find(
    (one) => one.name === name,
  );
  if (known?.issuerUrl === settings.issuerUrl && known.ca === settings.ca) return;
  // Where its address has changed, clusters that use it keep the former one.
  await api
    .put('/ns/{namespace}/realms/{realm}', { namespace: DEFAULT_NAMESPACE, realm: name }, { body: settings })
    .catch(unless('realm.would-move'));
};

const ensureNamespace = async (api: Api, name: string): Promise<void> => {
  if ((await api.list('/ns')).some((namespace) => namespace.name === name)) return;
  await api
    .post('/ns', {}, { body: { name, description: 'Created by fairlead up' } })
    .catch(unless('namespace.exists'));
};

/** Addresses can change over a restart when another program has taken the old ones; the machines are the same. */
const ensureSite = async (api: Api, { provider, settings, token, ready }: SiteAccess): Promise<void> => {
  const { connection, region, zone } = SITES[provider];
  const known = (await api.list('/connections')).find(({ name }) => name === connection);
  const isSame = Object.entries(settings).every(([name, value]) => known?.settings?.[name] === value);
  if (known !== undefined && isSame) return;
  await ready; // It is asked what it offers as soon as it is registered.
  await api.put(
    '/connections/{connection}',
    { connection },
    {
      body: {
        provider,
        region,
        zone,
        // What an instance begins with is for everyone on this machine.
        namespaces: [SHARED_WITH_ALL],
        moved: true,
        settings: { ...settings, ...(token === undefined ? {} : { token }) },
      },
    },
  );
};

const unless =
  (code: string) =>
  (error: unknown): void => {
    if (!(error instanceof CliFailure) || error.code !== code) throw error;
  };

/** Resolves when infra-svc has reached what the instance begins with; throws its words when it cannot. */
export const siteVerified = async (api: Api, provider: Provider, interrupted: AbortSignal): Promise<void> => {
  const deadline = performance.now() + VERIFIED_TIMEOUT_MS;
  for (;;) {
    const { verified, problem } = await api.get('/connections/{connection}', {
      connection: SITES[provider].connection,
    });
    if (verified !== null) return;
    if (performance.now() >= deadline) {
      throw new CliFailure('timed-out', {
        code: 'cli.site-unverified',
        message: `The connection ${SITES[provider].connection} was not verified within ${VERIFIED_TIMEOUT_MS / 1_000} s${problem === '' ? '' : `: ${problem}`}`,
        help: `See the log of infra-svc${SITES[provider].hosts === 'lab' ? ' and lab' : ''} in the data folder.`,
      });
    }
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
};
