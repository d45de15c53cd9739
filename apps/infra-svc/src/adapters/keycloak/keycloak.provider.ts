import { keycloakUrlsOf } from '@fairlead/contracts';
import { RealmFailure, type IdentityProvider, type RealmAccess } from '../../realms/realm.ports.js';
import { AccessToken, Anything, Discovery } from './keycloak.answers.js';
import { KeycloakHttp, type RealmHttp } from './keycloak.client.js';
import { ensureRealm } from './keycloak.creation.js';
import { KeycloakRealm } from './keycloak.realm.js';

/** The credential must not be sent anywhere else. */
const discovered = async (
  http: KeycloakHttp,
  { name }: RealmAccess,
  issuerUrl: string,
  signal: AbortSignal,
): Promise<Discovery> => {
  const url = `${issuerUrl}/.well-known/openid-configuration`;
  const discovery = await http.read({ method: 'GET', url }, Discovery, signal);
  const invalid = (what: string): RealmFailure =>
    new RealmFailure('RealmInvalid', `realm ${name}: the discovery document of ${issuerUrl} ${what}`);
  if (discovery.issuer !== issuerUrl) throw invalid('names another issuer');
  if (discovery.device_authorization_endpoint === undefined)
    throw invalid('has no device authorization endpoint, which kubectl needs to sign users in');
  const { origin } = new URL(issuerUrl);
  if (new URL(discovery.token_endpoint).origin !== origin) throw invalid('has its token endpoint on another host');
  return discovery;
};

/**
 * Keycloak: a client with a service account that has the roles manage-clients and manage-users of its realm; or one of
 * the realm master that may create realms, and manages those that it created.
 */
export const keycloak = (world: RealmHttp): IdentityProvider => ({
  name: 'keycloak',
  open: async (access, signal) => {
    const http = new KeycloakHttp(world, access);
    const { issuerUrl, create, clientId: client_id, clientSecret: client_secret } = access;
    const urls = keycloakUrlsOf(issuerUrl);
    if (urls === undefined || (create === true && urls.creatable === undefined))
      throw new RealmFailure('RealmInvalid', `${issuerUrl} is not the issuer of a realm of Keycloak`);
    const tokenOf = async (issuer: string): Promise<string> => {
      const { token_endpoint: url } = await discovered(http, access, issuer, signal);
      const form = { grant_type: 'client_credentials', client_id, client_secret };
      return (await http.read({ method: 'POST', url, form }, AccessToken, signal)).access_token;
    };
    const token =
      create === true
        ? await ensureRealm({ http, urls, access, signal }, () => tokenOf(urls.masterIssuer))
        : await tokenOf(issuerUrl);
    if (create === true) await discovered(http, access, issuerUrl, signal);
    // Permission to manage requires permission to view.
    for (const path of ['clients?max=1', 'groups?max=1'])
      await http.read({ method: 'GET', url: `${urls.admin}/${path}`, token }, Anything, signal);
    return new KeycloakRealm(http, urls.admin, token);
  },
});
